--
-- PostgreSQL database dump
--


-- Dumped from database version 15.20 (Debian 15.20-0+deb12u1)
-- Dumped by pg_dump version 15.20 (Debian 15.20-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: howdah; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS howdah WITH SCHEMA pg_catalog;


--
-- Name: EXTENSION howdah; Type: COMMENT; Schema: -; Owner: 
--

COMMENT ON EXTENSION howdah IS 'PostgreSQL as an application platform: HTTP answered by SQL';


--
-- Name: shop; Type: SCHEMA; Schema: -; Owner: postgres
--

CREATE SCHEMA shop;


ALTER SCHEMA shop OWNER TO postgres;

--
-- Name: users; Type: SCHEMA; Schema: -; Owner: users_owner
--

CREATE SCHEMA users;


ALTER SCHEMA users OWNER TO users_owner;

--
-- Name: reading; Type: TYPE; Schema: shop; Owner: postgres
--

CREATE TYPE shop.reading AS (
	sensor text,
	value numeric
);


ALTER TYPE shop.reading OWNER TO postgres;

--
-- Name: row_type_1(); Type: FUNCTION; Schema: queue; Owner: postgres
--

CREATE FUNCTION queue.row_type_1() RETURNS shop.reading
    LANGUAGE plpgsql
    AS $$begin return null; end$$;


ALTER FUNCTION queue.row_type_1() OWNER TO postgres;

--
-- Name: FUNCTION row_type_1(); Type: COMMENT; Schema: queue; Owner: postgres
--

COMMENT ON FUNCTION queue.row_type_1() IS 'The row type of queue readings';


--
-- Name: row_type_3(); Type: FUNCTION; Schema: queue; Owner: postgres
--

CREATE FUNCTION queue.row_type_3() RETURNS job.entry
    LANGUAGE plpgsql
    AS $$begin return null; end$$;


ALTER FUNCTION queue.row_type_3() OWNER TO postgres;

--
-- Name: FUNCTION row_type_3(); Type: COMMENT; Schema: queue; Owner: postgres
--

COMMENT ON FUNCTION queue.row_type_3() IS 'The row type of queue job_1_normal';


--
-- Name: row_type_4(); Type: FUNCTION; Schema: queue; Owner: postgres
--

CREATE FUNCTION queue.row_type_4() RETURNS job.entry
    LANGUAGE plpgsql
    AS $$begin return null; end$$;


ALTER FUNCTION queue.row_type_4() OWNER TO postgres;

--
-- Name: FUNCTION row_type_4(); Type: COMMENT; Schema: queue; Owner: postgres
--

COMMENT ON FUNCTION queue.row_type_4() IS 'The row type of queue job_2_normal';


--
-- Name: row_type_5(); Type: FUNCTION; Schema: queue; Owner: postgres
--

CREATE FUNCTION queue.row_type_5() RETURNS job.entry
    LANGUAGE plpgsql
    AS $$begin return null; end$$;


ALTER FUNCTION queue.row_type_5() OWNER TO postgres;

--
-- Name: FUNCTION row_type_5(); Type: COMMENT; Schema: queue; Owner: postgres
--

COMMENT ON FUNCTION queue.row_type_5() IS 'The row type of queue job_2_high';


--
-- Name: goods_list(); Type: FUNCTION; Schema: shop; Owner: postgres
--

CREATE FUNCTION shop.goods_list() RETURNS text
    LANGUAGE sql STABLE
    AS $$ select string_agg(name, ',' order by name) from shop.goods $$;


ALTER FUNCTION shop.goods_list() OWNER TO postgres;

--
-- Name: work(integer); Type: FUNCTION; Schema: shop; Owner: postgres
--

CREATE FUNCTION shop.work(number integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
  if number < 0 then raise exception 'no % here', number; end if;
  insert into shop.ran values (number);
end $$;


ALTER FUNCTION shop.work(number integer) OWNER TO postgres;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: users; Type: TABLE; Schema: users; Owner: users_owner
--

CREATE TABLE users.users (
    handle text NOT NULL,
    name text NOT NULL
);


ALTER TABLE users.users OWNER TO users_owner;

--
-- Name: user_card(text); Type: FUNCTION; Schema: users; Owner: users_owner
--

CREATE FUNCTION users.user_card(handle text) RETURNS http.html
    LANGUAGE sql STABLE
    RETURN (SELECT format('<b>%s</b>'::text, http.escape(users.name)) AS format FROM users.users WHERE (users.handle = user_card.handle));


ALTER FUNCTION users.user_card(handle text) OWNER TO users_owner;

--
-- Name: a_notes; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.a_notes (
    msg_id bigint NOT NULL,
    read_ct integer NOT NULL,
    enqueued_at timestamp with time zone NOT NULL,
    last_read_at timestamp with time zone,
    archived_at timestamp with time zone DEFAULT now() NOT NULL,
    vt timestamp with time zone NOT NULL,
    message jsonb,
    headers jsonb
);


ALTER TABLE queue.a_notes OWNER TO postgres;

--
-- Name: ledger_1_1; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_1_1 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_1_1 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_1_1 OWNER TO postgres;

--
-- Name: ledger_1_2; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_1_2 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_1_2 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_1_2 OWNER TO postgres;

--
-- Name: ledger_1_3; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_1_3 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_1_3 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_1_3 OWNER TO postgres;

--
-- Name: ledger_2_1; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_2_1 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_2_1 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_2_1 OWNER TO postgres;

--
-- Name: ledger_2_2; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_2_2 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_2_2 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_2_2 OWNER TO postgres;

--
-- Name: ledger_2_3; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_2_3 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_2_3 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_2_3 OWNER TO postgres;

--
-- Name: ledger_3_1; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_3_1 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_3_1 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_3_1 OWNER TO postgres;

--
-- Name: ledger_3_2; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_3_2 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_3_2 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_3_2 OWNER TO postgres;

--
-- Name: ledger_3_3; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_3_3 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_3_3 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_3_3 OWNER TO postgres;

--
-- Name: ledger_4_1; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_4_1 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_4_1 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_4_1 OWNER TO postgres;

--
-- Name: ledger_4_2; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_4_2 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_4_2 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_4_2 OWNER TO postgres;

--
-- Name: ledger_4_3; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_4_3 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_4_3 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_4_3 OWNER TO postgres;

--
-- Name: ledger_5_1; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_5_1 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_5_1 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_5_1 OWNER TO postgres;

--
-- Name: ledger_5_2; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_5_2 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_5_2 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_5_2 OWNER TO postgres;

--
-- Name: ledger_5_3; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.ledger_5_3 (
    first bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    read_at timestamp with time zone NOT NULL,
    count integer NOT NULL,
    reads integer NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    producer text COLLATE pg_catalog."C",
    epoch integer,
    sequence bigint
)
WITH (autovacuum_enabled='false');

ALTER TABLE ONLY queue.ledger_5_3 REPLICA IDENTITY FULL;


ALTER TABLE queue.ledger_5_3 OWNER TO postgres;

--
-- Name: rows_1_1; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_1_1 (
    "@position" bigint NOT NULL,
    sensor text,
    value numeric
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');
ALTER TABLE ONLY queue.rows_1_1 ALTER COLUMN sensor SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_1_1 ALTER COLUMN value SET STATISTICS 0;

ALTER TABLE ONLY queue.rows_1_1 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_1_1 OWNER TO postgres;

--
-- Name: rows_1_2; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_1_2 (
    "@position" bigint NOT NULL,
    sensor text,
    value numeric
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');
ALTER TABLE ONLY queue.rows_1_2 ALTER COLUMN sensor SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_1_2 ALTER COLUMN value SET STATISTICS 0;

ALTER TABLE ONLY queue.rows_1_2 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_1_2 OWNER TO postgres;

--
-- Name: rows_1_3; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_1_3 (
    "@position" bigint NOT NULL,
    sensor text,
    value numeric
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');
ALTER TABLE ONLY queue.rows_1_3 ALTER COLUMN sensor SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_1_3 ALTER COLUMN value SET STATISTICS 0;

ALTER TABLE ONLY queue.rows_1_3 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_1_3 OWNER TO postgres;

--
-- Name: rows_2_1; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_2_1 (
    "@position" bigint NOT NULL,
    message jsonb,
    headers jsonb
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');

ALTER TABLE ONLY queue.rows_2_1 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_2_1 OWNER TO postgres;

--
-- Name: rows_2_2; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_2_2 (
    "@position" bigint NOT NULL,
    message jsonb,
    headers jsonb
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');

ALTER TABLE ONLY queue.rows_2_2 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_2_2 OWNER TO postgres;

--
-- Name: rows_2_3; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_2_3 (
    "@position" bigint NOT NULL,
    message jsonb,
    headers jsonb
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');

ALTER TABLE ONLY queue.rows_2_3 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_2_3 OWNER TO postgres;

--
-- Name: rows_3_1; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_3_1 (
    "@position" bigint NOT NULL,
    arguments jsonb,
    key text,
    root bigint,
    holds text
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');
ALTER TABLE ONLY queue.rows_3_1 ALTER COLUMN arguments SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_3_1 ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_3_1 ALTER COLUMN root SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_3_1 ALTER COLUMN holds SET STATISTICS 0;

ALTER TABLE ONLY queue.rows_3_1 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_3_1 OWNER TO postgres;

--
-- Name: rows_3_2; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_3_2 (
    "@position" bigint NOT NULL,
    arguments jsonb,
    key text,
    root bigint,
    holds text
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');
ALTER TABLE ONLY queue.rows_3_2 ALTER COLUMN arguments SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_3_2 ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_3_2 ALTER COLUMN root SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_3_2 ALTER COLUMN holds SET STATISTICS 0;

ALTER TABLE ONLY queue.rows_3_2 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_3_2 OWNER TO postgres;

--
-- Name: rows_3_3; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_3_3 (
    "@position" bigint NOT NULL,
    arguments jsonb,
    key text,
    root bigint,
    holds text
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');
ALTER TABLE ONLY queue.rows_3_3 ALTER COLUMN arguments SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_3_3 ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_3_3 ALTER COLUMN root SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_3_3 ALTER COLUMN holds SET STATISTICS 0;

ALTER TABLE ONLY queue.rows_3_3 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_3_3 OWNER TO postgres;

--
-- Name: rows_4_1; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_4_1 (
    "@position" bigint NOT NULL,
    arguments jsonb,
    key text,
    root bigint,
    holds text
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');
ALTER TABLE ONLY queue.rows_4_1 ALTER COLUMN arguments SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_4_1 ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_4_1 ALTER COLUMN root SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_4_1 ALTER COLUMN holds SET STATISTICS 0;

ALTER TABLE ONLY queue.rows_4_1 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_4_1 OWNER TO postgres;

--
-- Name: rows_4_2; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_4_2 (
    "@position" bigint NOT NULL,
    arguments jsonb,
    key text,
    root bigint,
    holds text
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');
ALTER TABLE ONLY queue.rows_4_2 ALTER COLUMN arguments SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_4_2 ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_4_2 ALTER COLUMN root SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_4_2 ALTER COLUMN holds SET STATISTICS 0;

ALTER TABLE ONLY queue.rows_4_2 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_4_2 OWNER TO postgres;

--
-- Name: rows_4_3; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_4_3 (
    "@position" bigint NOT NULL,
    arguments jsonb,
    key text,
    root bigint,
    holds text
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');
ALTER TABLE ONLY queue.rows_4_3 ALTER COLUMN arguments SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_4_3 ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_4_3 ALTER COLUMN root SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_4_3 ALTER COLUMN holds SET STATISTICS 0;

ALTER TABLE ONLY queue.rows_4_3 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_4_3 OWNER TO postgres;

--
-- Name: rows_5_1; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_5_1 (
    "@position" bigint NOT NULL,
    arguments jsonb,
    key text,
    root bigint,
    holds text
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');
ALTER TABLE ONLY queue.rows_5_1 ALTER COLUMN arguments SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_5_1 ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_5_1 ALTER COLUMN root SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_5_1 ALTER COLUMN holds SET STATISTICS 0;

ALTER TABLE ONLY queue.rows_5_1 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_5_1 OWNER TO postgres;

--
-- Name: rows_5_2; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_5_2 (
    "@position" bigint NOT NULL,
    arguments jsonb,
    key text,
    root bigint,
    holds text
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');
ALTER TABLE ONLY queue.rows_5_2 ALTER COLUMN arguments SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_5_2 ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_5_2 ALTER COLUMN root SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_5_2 ALTER COLUMN holds SET STATISTICS 0;

ALTER TABLE ONLY queue.rows_5_2 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_5_2 OWNER TO postgres;

--
-- Name: rows_5_3; Type: TABLE; Schema: queue; Owner: postgres
--

CREATE TABLE queue.rows_5_3 (
    "@position" bigint NOT NULL,
    arguments jsonb,
    key text,
    root bigint,
    holds text
)
WITH (autovacuum_enabled='false', toast.autovacuum_enabled='false');
ALTER TABLE ONLY queue.rows_5_3 ALTER COLUMN arguments SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_5_3 ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_5_3 ALTER COLUMN root SET STATISTICS 0;
ALTER TABLE ONLY queue.rows_5_3 ALTER COLUMN holds SET STATISTICS 0;

ALTER TABLE ONLY queue.rows_5_3 REPLICA IDENTITY FULL;


ALTER TABLE queue.rows_5_3 OWNER TO postgres;

--
-- Name: goods; Type: TABLE; Schema: shop; Owner: postgres
--

CREATE TABLE shop.goods (
    name text NOT NULL
);


ALTER TABLE shop.goods OWNER TO postgres;

--
-- Name: line; Type: TABLE; Schema: shop; Owner: postgres
--

CREATE TABLE shop.line (
    number integer NOT NULL
);


ALTER TABLE shop.line OWNER TO postgres;

--
-- Name: ran; Type: TABLE; Schema: shop; Owner: postgres
--

CREATE TABLE shop.ran (
    number integer
);


ALTER TABLE shop.ran OWNER TO postgres;

--
-- Data for Name: application; Type: TABLE DATA; Schema: deploy; Owner: postgres
--

COPY deploy.application (id, name, schema_name, owner) FROM stdin;
1	users	users	users_owner
\.


--
-- Data for Name: content; Type: TABLE DATA; Schema: deploy; Owner: postgres
--

COPY deploy.content (application, digest, content) FROM stdin;
users	a7958b51e7b29759f000763f4689c392bf1c3295992c7375d78b477123ccae6d	-- The users, and who may read them.\n\ncreate table users (\n  handle text primary key,\n  name text not null);\n\n-- The published statement, in routes.sql, compares an array built from every row. With this index it need not.\ncreate index users_path on users ((array[null, 'users', handle]));\n\ninsert into users (handle, name) values ('johndoe', 'John'), ('maryjane', 'Mary <Jane>');\n\ngrant select on users to howdah_web;\n
users	3690533e69eafd3db317e7f71224b12eaf72e8037edd6465414015f462d1e141	-- The path's {handle} is the argument of that name.\ncreate function user_card(handle text) returns http.html\nlanguage sql stable\nreturn (select format('<b>%s</b>', http.escape(users.name)) from users where users.handle = user_card.handle);\n
users	d8e683adde182baa4449dfd0c437109c981d5577525bec5dc9a3bf5eb02e8092	-- try: curl localhost:9000/users/johndoe\n-- try: curl -X POST 'localhost:9000/test?q'\n-- try: curl localhost:9000/users/maryjane/card\n\n-- One statement over the relation request; the first row it returns is the response. This is the example as\n-- published. Do not copy its Hello: the name goes into the HTML as it is, and a user who calls himself\n-- <script> owns the page. The route below does it right, with http.escape().\nselect http.handle($$\n  select http.response(headers => array[http.header('content-type', 'text/html')],\n                       body => 'Hello, <b>' || users.name || '</b>!'), 1 as priority\n  from request join users on string_to_array(request.path, '/', '') = array[null, 'users', users.handle]\n  union all\n  select http.response(status => 404,\n                       body => json_build_object('method', request.method, 'path', request.path,\n                                                 'query_string', request.query_string)), 0\n  from request\n  order by priority desc\n$$, name => 'users');\n\n-- A route calls a function.\nselect http.route('GET', '/users/{handle}/card', 'user_card');\n
users	46c981e642ee2cc50aff4f00e3f207e47ee646f46c8ddf885f175402b4290295	select convert_from(body, 'UTF8') = 'Hello, <b>John</b>!' from http.call('GET', '/users/johndoe');\n\nselect status = 404 and convert_from(body, 'UTF8')::json ->> 'query_string' = 'q' from http.call('POST', '/test?q');\n\nselect convert_from(body, 'UTF8') = '<b>Mary &lt;Jane&gt;</b>' from http.call('GET', '/users/maryjane/card');\n
\.


--
-- Data for Name: deployment; Type: TABLE DATA; Schema: deploy; Owner: postgres
--

COPY deploy.deployment (application, number, kind, deployed_at, deployed_by, source, note, key, fingerprint) FROM stdin;
users	1	deploy	2026-11-29 21:01:27.718364+00	postgres	7cc0badaaa590b8cebc226222a37e642ef66890e	\N	fd3108a376ef0a15	7441b75a183026e32834f374d64fb5b4626900c0bf20210397fc5747b3acf11e
\.


--
-- Data for Name: file; Type: TABLE DATA; Schema: deploy; Owner: postgres
--

COPY deploy.file (application, number, path, digest) FROM stdin;
users	1	functions/user_card.sql	3690533e69eafd3db317e7f71224b12eaf72e8037edd6465414015f462d1e141
users	1	migrations/001-users.sql	a7958b51e7b29759f000763f4689c392bf1c3295992c7375d78b477123ccae6d
users	1	routes.sql	d8e683adde182baa4449dfd0c437109c981d5577525bec5dc9a3bf5eb02e8092
users	1	tests/pages.sql	46c981e642ee2cc50aff4f00e3f207e47ee646f46c8ddf885f175402b4290295
\.


--
-- Data for Name: given; Type: TABLE DATA; Schema: deploy; Owner: postgres
--

COPY deploy.given (application, path, object, part, grantee, privilege, is_grantable, is_taken) FROM stdin;
\.


--
-- Data for Name: migration; Type: TABLE DATA; Schema: deploy; Owner: postgres
--

COPY deploy.migration (application, path, digest, number) FROM stdin;
users	migrations/001-users.sql	a7958b51e7b29759f000763f4689c392bf1c3295992c7375d78b477123ccae6d	1
\.


--
-- Data for Name: object; Type: TABLE DATA; Schema: deploy; Owner: postgres
--

COPY deploy.object (application, path, type, names, arguments, is_stale, is_drifted, definition) FROM stdin;
users	functions/user_card.sql	function	{users,user_card}	{pg_catalog.text}	f	f	15:6ed1e239c8fdc70e43c090f0a98918a3
users	routes.sql	handler	{users}	{}	f	f	8fb603205aca7f7fdaaf117f3d568367
users	routes.sql	route	{GET,"/users/{handle}/card"}	{}	f	f	766e1899ff6522e1d23382dcc42357ce
\.


--
-- Data for Name: shape; Type: TABLE DATA; Schema: deploy; Owner: postgres
--

COPY deploy.shape (application, object, definition, seen, version) FROM stdin;
users	table users.users		\N	15
users	table users.users, column handle	text not null	\N	15
users	table users.users, column name	text not null	\N	15
users	table users.users, constraint users_pkey	PRIMARY KEY (handle)	\N	15
users	table users.users, index users_path	CREATE INDEX users_path ON users.users USING btree ((ARRAY[NULL::text, 'users'::text, handle]))	\N	15
users	function users.user_card(text)		\N	15
users	table users.users, rights	howdah_web SELECT f, users_owner DELETE f, users_owner INSERT f, users_owner REFERENCES f, users_owner SELECT f, users_owner TRIGGER f, users_owner TRUNCATE f, users_owner UPDATE f	\N	15
\.


--
-- Data for Name: step; Type: TABLE DATA; Schema: deploy; Owner: postgres
--

COPY deploy.step (application, path, digest, number, begun_at, begun_by, last_key, keys, has_ended) FROM stdin;
\.


--
-- Data for Name: handler; Type: TABLE DATA; Schema: http; Owner: postgres
--

COPY http.handler (name, statement, priority, role, search_path, owner) FROM stdin;
users	\n  select http.response(headers => array[http.header('content-type', 'text/html')],\n                       body => 'Hello, <b>' || users.name || '</b>!'), 1 as priority\n  from request join users on string_to_array(request.path, '/', '') = array[null, 'users', users.handle]\n  union all\n  select http.response(status => 404,\n                       body => json_build_object('method', request.method, 'path', request.path,\n                                                 'query_string', request.query_string)), 0\n  from request\n  order by priority desc\n	0	howdah_web	users, public, pg_temp	users_owner
\.


--
-- Data for Name: listener; Type: TABLE DATA; Schema: http; Owner: postgres
--

COPY http.listener (port, address, tls, redirect, client_certificates) FROM stdin;
9321		f	\N	off
\.


--
-- Data for Name: route; Type: TABLE DATA; Schema: http; Owner: postgres
--

COPY http.route (method, pattern, function, role, search_path, owner, validates, vary, max_entries, max_age) FROM stdin;
GET	/users/{handle}/card	users.user_card(text)	howdah_web	users, public, pg_temp	users_owner	f	{}	\N	\N
GET	/goods	shop.goods_list()	howdah_web	public, pg_temp	postgres	f	{cookie:who}	7	\N
\.


--
-- Data for Name: dead; Type: TABLE DATA; Schema: job; Owner: postgres
--

COPY job.dead (id, kind, priority, arguments, key, holds, root, attempts, enqueued_at, died_at, reason, sqlstate, message) FROM stdin;
262148	2	normal	{"number": -1}	\N	\N	\N	2	2026-11-29 21:01:28.058976+00	2026-11-29 21:01:28.08544+00	failed	P0001	no -1 here
\.


--
-- Data for Name: failure; Type: TABLE DATA; Schema: job; Owner: postgres
--

COPY job.failure (job, place, kind, attempt, began_at, ended_at, sqlstate, message, detail, hint, context) FROM stdin;
262148	1	2	1	2026-11-29 21:01:28.059959+00	2026-11-29 21:01:28.060216+00	P0001	no -1 here	\N	\N	PL/pgSQL function shop.work(integer) line 3 at RAISE\njob 262148 of kind work, attempt 1
262148	2	2	2	2026-11-29 21:01:28.085121+00	2026-11-29 21:01:28.085924+00	P0001	no -1 here	\N	\N	PL/pgSQL function shop.work(integer) line 3 at RAISE\njob 262148 of kind work, attempt 2
\.


--
-- Data for Name: home; Type: TABLE DATA; Schema: job; Owner: postgres
--

COPY job.home (one, cluster, database) FROM stdin;
t	7713701508123856946	16384
\.


--
-- Data for Name: key; Type: TABLE DATA; Schema: job; Owner: postgres
--

COPY job.key (kind, key, job, holds, until) FROM stdin;
2	k	262149	waiting	\N
\.


--
-- Data for Name: kind; Type: TABLE DATA; Schema: job; Owner: postgres
--

COPY job.kind (id, name, owner, priority, alert, function, function_owner, function_oid, role, search_path, attempts, backoff, longest_backoff, timeout, at_once, per_second, batch, keep_failures, keep_dead, paused_at, defined_at) FROM stdin;
1	told	postgres	normal	\N	shop.work(integer)	postgres	17218	howdah_web	public, pg_temp	20	00:00:01	01:00:00	00:05:00	\N	\N	1	30 days	\N	2026-11-29 21:01:28.033829+00	2026-11-29 21:01:28.012625+00
2	work	postgres	normal	1	shop.work(integer)	postgres	17218	howdah_web	public, pg_temp	2	00:00:00.001	01:00:00	00:05:00	\N	\N	5	30 days	\N	2026-11-29 21:01:28.163228+00	2026-11-29 21:01:28.035472+00
\.


--
-- Data for Name: kind_queue; Type: TABLE DATA; Schema: job; Owner: postgres
--

COPY job.kind_queue (kind, priority, queue) FROM stdin;
1	normal	3
2	normal	4
2	high	5
\.


--
-- Data for Name: permission; Type: TABLE DATA; Schema: job; Owner: postgres
--

COPY job.permission (kind, role, permission) FROM stdin;
2	howdah_web	enqueue
\.


--
-- Data for Name: timetable; Type: TABLE DATA; Schema: job; Owner: postgres
--

COPY job.timetable (id, name, owner, kind, arguments, priority, cron, every, anchor, time_zone, missed, missed_within, missed_most, may_overlap, defined_at, paused_at, stopped, next_at, looked_at, last_at, last_job, skipped, missed_for_good) FROM stdin;
1	yearly	postgres	2	{}	\N	0 0 1 1 *	\N	\N	Europe/Berlin	once	1 day	100	f	2026-11-29 21:01:28.189152+00	\N	\N	2026-12-31 23:00:00+00	2026-11-29 21:01:28.189152+00	\N	\N	0	0
\.


--
-- Data for Name: a_notes; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.a_notes (msg_id, read_ct, enqueued_at, last_read_at, archived_at, vt, message, headers) FROM stdin;
4	0	2026-11-29 21:01:28.007184+00	\N	2026-11-29 21:01:28.007937+00	2026-11-29 21:01:28.007184+00	{"note": "archived"}	\N
\.


--
-- Data for Name: dead_letter; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.dead_letter (queue, into_table, listener, msg_id, read_ct, enqueued_at, buried_at, sqlstate, error, message, headers, line, line_length, column_names, column_values) FROM stdin;
2	\N	\N	5	1	2026-11-29 21:01:28.007189+00	2026-11-29 21:01:28.008912+00	\N	read 1 times	{"note": "dead"}	\N	\N	\N	\N	\N
\N	shop.line	0	\N	\N	2026-11-29 21:01:28.010444+00	2026-11-29 21:01:28.010444+00	22P02	invalid input syntax for type integer: "one"	\N	\N	\\x7b226e756d626572223a20226f6e65227d	17	\N	\N
\.


--
-- Data for Name: ledger_1_1; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_1_1 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
1	2026-11-29 21:01:27.987165+00	2000-01-01 00:00:00+00	2000-01-01 00:00:00+00	3	-1	0	0	\N	\N	\N
4	2026-11-29 21:01:27.987665+00	2000-01-01 00:00:00+00	2000-01-01 00:00:00+00	2	-1	0	0	station	1	2
1	2026-11-29 21:01:27.987969+00	infinity	2000-01-01 00:00:00+00	-1	0	0	0	\N	\N	\N
\.


--
-- Data for Name: ledger_1_2; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_1_2 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
\.


--
-- Data for Name: ledger_1_3; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_1_3 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
\.


--
-- Data for Name: ledger_2_1; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_2_1 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
1	2026-11-29 21:01:28.007086+00	2000-01-01 00:00:00+00	2000-01-01 00:00:00+00	1	-1	0	0	\N	\N	\N
2	2026-11-29 21:01:28.007172+00	2058-08-07 22:48:08.007168+00	2000-01-01 00:00:00+00	1	-1	0	0	\N	\N	\N
3	2026-11-29 21:01:28.007179+00	2000-01-01 00:00:00+00	2000-01-01 00:00:00+00	1	-1	0	0	\N	\N	\N
4	2026-11-29 21:01:28.007184+00	2000-01-01 00:00:00+00	2000-01-01 00:00:00+00	1	-1	0	0	\N	\N	\N
5	2026-11-29 21:01:28.007189+00	2000-01-01 00:00:00+00	2000-01-01 00:00:00+00	1	-1	0	0	\N	\N	\N
3	2026-11-29 21:01:28.00769+00	2058-08-07 22:48:08.00769+00	2026-11-29 21:01:28.00769+00	-1	1	0	0	\N	\N	\N
4	2026-11-29 21:01:28.008109+00	infinity	2000-01-01 00:00:00+00	-1	0	0	0	\N	\N	\N
5	2026-11-29 21:01:28.008659+00	2026-11-29 21:01:28.008659+00	2026-11-29 21:01:28.008659+00	-1	1	0	0	\N	\N	\N
5	2026-11-29 21:01:28.008989+00	infinity	2026-11-29 21:01:28.008659+00	-1	1	0	0	\N	\N	\N
\.


--
-- Data for Name: ledger_2_2; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_2_2 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
\.


--
-- Data for Name: ledger_2_3; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_2_3 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
\.


--
-- Data for Name: ledger_3_1; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_3_1 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
1	2026-11-29 21:01:28.085766+00	2000-01-01 00:00:00+00	2000-01-01 00:00:00+00	1	-1	0	0	\N	\N	\N
\.


--
-- Data for Name: ledger_3_2; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_3_2 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
\.


--
-- Data for Name: ledger_3_3; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_3_3 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
\.


--
-- Data for Name: ledger_4_1; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_4_1 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
1	2026-11-29 21:01:28.058976+00	2000-01-01 00:00:00+00	2000-01-01 00:00:00+00	1	-1	0	0	\N	\N	\N
1	2026-11-29 21:01:28.059793+00	2026-11-29 21:02:28.059793+00	2000-01-01 00:00:00+00	-1	0	0	0	\N	\N	\N
1	2026-11-29 21:01:28.060112+00	2026-11-29 21:01:28.061266+00	2000-01-01 00:00:00+00	-1	1	0	0	\N	\N	\N
1	2026-11-29 21:01:28.085059+00	2026-11-29 21:02:28.085059+00	2000-01-01 00:00:00+00	-1	1	0	0	\N	\N	\N
1	2026-11-29 21:01:28.085332+00	infinity	2000-01-01 00:00:00+00	-1	1	0	0	\N	\N	\N
2	2026-11-29 21:01:28.16549+00	2000-01-01 00:00:00+00	2000-01-01 00:00:00+00	20	-1	0	0	\N	\N	\N
22	2026-11-29 21:01:28.186784+00	3000-01-01 00:00:00+00	2000-01-01 00:00:00+00	1	-1	0	0	\N	\N	\N
\.


--
-- Data for Name: ledger_4_2; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_4_2 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
\.


--
-- Data for Name: ledger_4_3; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_4_3 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
\.


--
-- Data for Name: ledger_5_1; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_5_1 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
1	2026-11-29 21:01:28.186266+00	2000-01-01 00:00:00+00	2000-01-01 00:00:00+00	1	-1	0	0	\N	\N	\N
\.


--
-- Data for Name: ledger_5_2; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_5_2 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
\.


--
-- Data for Name: ledger_5_3; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.ledger_5_3 (first, at, until, read_at, count, reads, low, high, producer, epoch, sequence) FROM stdin;
\.


--
-- Data for Name: listener; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.listener (port, address, queue, queue_owner, into_table, role, search_path, token, durability, bucket_rows, bucket_bytes, bucket_milliseconds, longest_line, line_column, rest_column, allow, tls) FROM stdin;
\.


--
-- Data for Name: permission; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.permission (queue, role, permission) FROM stdin;
1	howdah_web	take
\.


--
-- Data for Name: progress; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.progress (into_table, producer, epoch, sequence) FROM stdin;
shop.line	lines	1	2
\.


--
-- Data for Name: queue; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.queue (id, name, row_type, owner, max_reads, is_unlogged, created_at) FROM stdin;
1	readings	shop.reading	postgres	\N	f	2026-11-29 21:01:27.964447+00
2	notes	\N	postgres	1	f	2026-11-29 21:01:27.98819+00
3	job_1_normal	job.entry	postgres	\N	f	2026-11-29 21:01:28.012625+00
4	job_2_normal	job.entry	postgres	\N	f	2026-11-29 21:01:28.035472+00
5	job_2_high	job.entry	postgres	\N	f	2026-11-29 21:01:28.165851+00
\.


--
-- Data for Name: rows_1_1; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_1_1 ("@position", sensor, value) FROM stdin;
1	a	1.5
2	b	2.5
3	c	\N
4	d	4.5
5	e	5.5
\.


--
-- Data for Name: rows_1_2; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_1_2 ("@position", sensor, value) FROM stdin;
\.


--
-- Data for Name: rows_1_3; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_1_3 ("@position", sensor, value) FROM stdin;
\.


--
-- Data for Name: rows_2_1; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_2_1 ("@position", message, headers) FROM stdin;
1	{"note": "waits"}	\N
2	{"note": "delayed"}	\N
3	{"note": "leased"}	\N
4	{"note": "archived"}	\N
5	{"note": "dead"}	\N
\.


--
-- Data for Name: rows_2_2; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_2_2 ("@position", message, headers) FROM stdin;
\.


--
-- Data for Name: rows_2_3; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_2_3 ("@position", message, headers) FROM stdin;
\.


--
-- Data for Name: rows_3_1; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_3_1 ("@position", arguments, key, root, holds) FROM stdin;
1	{"job": 262148, "kind": "work", "reason": "failed", "message": "no -1 here", "attempts": 2, "sqlstate": "P0001", "arguments": {"number": -1}}	\N	\N	\N
\.


--
-- Data for Name: rows_3_2; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_3_2 ("@position", arguments, key, root, holds) FROM stdin;
\.


--
-- Data for Name: rows_3_3; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_3_3 ("@position", arguments, key, root, holds) FROM stdin;
\.


--
-- Data for Name: rows_4_1; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_4_1 ("@position", arguments, key, root, holds) FROM stdin;
1	{"number": -1}	\N	\N	\N
2	{"number": 1}	\N	\N	\N
3	{"number": 2}	\N	\N	\N
4	{"number": 3}	\N	\N	\N
5	{"number": 4}	\N	\N	\N
6	{"number": 5}	\N	\N	\N
7	{"number": 6}	\N	\N	\N
8	{"number": 7}	\N	\N	\N
9	{"number": 8}	\N	\N	\N
10	{"number": 9}	\N	\N	\N
11	{"number": 10}	\N	\N	\N
12	{"number": 11}	\N	\N	\N
13	{"number": 12}	\N	\N	\N
14	{"number": 13}	\N	\N	\N
15	{"number": 14}	\N	\N	\N
16	{"number": 15}	\N	\N	\N
17	{"number": 16}	\N	\N	\N
18	{"number": 17}	\N	\N	\N
19	{"number": 18}	\N	\N	\N
20	{"number": 19}	\N	\N	\N
21	{"number": 20}	\N	\N	\N
22	{"number": 22}	\N	\N	\N
\.


--
-- Data for Name: rows_4_2; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_4_2 ("@position", arguments, key, root, holds) FROM stdin;
\.


--
-- Data for Name: rows_4_3; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_4_3 ("@position", arguments, key, root, holds) FROM stdin;
\.


--
-- Data for Name: rows_5_1; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_5_1 ("@position", arguments, key, root, holds) FROM stdin;
1	{"number": 21}	k	\N	waiting
\.


--
-- Data for Name: rows_5_2; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_5_2 ("@position", arguments, key, root, holds) FROM stdin;
\.


--
-- Data for Name: rows_5_3; Type: TABLE DATA; Schema: queue; Owner: postgres
--

COPY queue.rows_5_3 ("@position", arguments, key, root, holds) FROM stdin;
\.


--
-- Data for Name: goods; Type: TABLE DATA; Schema: shop; Owner: postgres
--

COPY shop.goods (name) FROM stdin;
tea
\.


--
-- Data for Name: line; Type: TABLE DATA; Schema: shop; Owner: postgres
--

COPY shop.line (number) FROM stdin;
1
\.


--
-- Data for Name: ran; Type: TABLE DATA; Schema: shop; Owner: postgres
--

COPY shop.ran (number) FROM stdin;
\.


--
-- Data for Name: users; Type: TABLE DATA; Schema: users; Owner: users_owner
--

COPY users.users (handle, name) FROM stdin;
johndoe	John
maryjane	Mary <Jane>
\.


--
-- Name: kind_id_seq; Type: SEQUENCE SET; Schema: job; Owner: postgres
--

SELECT pg_catalog.setval('job.kind_id_seq', 2, true);


--
-- Name: timetable_id_seq; Type: SEQUENCE SET; Schema: job; Owner: postgres
--

SELECT pg_catalog.setval('job.timetable_id_seq', 1, true);


--
-- Name: queue_id_seq; Type: SEQUENCE SET; Schema: queue; Owner: postgres
--

SELECT pg_catalog.setval('queue.queue_id_seq', 5, true);


--
-- Name: a_notes a_notes_pkey; Type: CONSTRAINT; Schema: queue; Owner: postgres
--

ALTER TABLE ONLY queue.a_notes
    ADD CONSTRAINT a_notes_pkey PRIMARY KEY (msg_id);


--
-- Name: goods goods_pkey; Type: CONSTRAINT; Schema: shop; Owner: postgres
--

ALTER TABLE ONLY shop.goods
    ADD CONSTRAINT goods_pkey PRIMARY KEY (name);


--
-- Name: line line_pkey; Type: CONSTRAINT; Schema: shop; Owner: postgres
--

ALTER TABLE ONLY shop.line
    ADD CONSTRAINT line_pkey PRIMARY KEY (number);


--
-- Name: users users_pkey; Type: CONSTRAINT; Schema: users; Owner: users_owner
--

ALTER TABLE ONLY users.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (handle);


--
-- Name: ledger_1_1_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_1_1_first_count_at_idx ON queue.ledger_1_1 USING btree (first, count, at DESC);


--
-- Name: ledger_1_1_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_1_1_producer_epoch_sequence_idx ON queue.ledger_1_1 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_1_2_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_1_2_first_count_at_idx ON queue.ledger_1_2 USING btree (first, count, at DESC);


--
-- Name: ledger_1_2_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_1_2_producer_epoch_sequence_idx ON queue.ledger_1_2 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_1_3_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_1_3_first_count_at_idx ON queue.ledger_1_3 USING btree (first, count, at DESC);


--
-- Name: ledger_1_3_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_1_3_producer_epoch_sequence_idx ON queue.ledger_1_3 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_2_1_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_2_1_first_count_at_idx ON queue.ledger_2_1 USING btree (first, count, at DESC);


--
-- Name: ledger_2_1_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_2_1_producer_epoch_sequence_idx ON queue.ledger_2_1 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_2_2_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_2_2_first_count_at_idx ON queue.ledger_2_2 USING btree (first, count, at DESC);


--
-- Name: ledger_2_2_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_2_2_producer_epoch_sequence_idx ON queue.ledger_2_2 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_2_3_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_2_3_first_count_at_idx ON queue.ledger_2_3 USING btree (first, count, at DESC);


--
-- Name: ledger_2_3_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_2_3_producer_epoch_sequence_idx ON queue.ledger_2_3 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_3_1_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_3_1_first_count_at_idx ON queue.ledger_3_1 USING btree (first, count, at DESC);


--
-- Name: ledger_3_1_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_3_1_producer_epoch_sequence_idx ON queue.ledger_3_1 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_3_2_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_3_2_first_count_at_idx ON queue.ledger_3_2 USING btree (first, count, at DESC);


--
-- Name: ledger_3_2_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_3_2_producer_epoch_sequence_idx ON queue.ledger_3_2 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_3_3_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_3_3_first_count_at_idx ON queue.ledger_3_3 USING btree (first, count, at DESC);


--
-- Name: ledger_3_3_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_3_3_producer_epoch_sequence_idx ON queue.ledger_3_3 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_4_1_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_4_1_first_count_at_idx ON queue.ledger_4_1 USING btree (first, count, at DESC);


--
-- Name: ledger_4_1_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_4_1_producer_epoch_sequence_idx ON queue.ledger_4_1 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_4_2_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_4_2_first_count_at_idx ON queue.ledger_4_2 USING btree (first, count, at DESC);


--
-- Name: ledger_4_2_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_4_2_producer_epoch_sequence_idx ON queue.ledger_4_2 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_4_3_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_4_3_first_count_at_idx ON queue.ledger_4_3 USING btree (first, count, at DESC);


--
-- Name: ledger_4_3_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_4_3_producer_epoch_sequence_idx ON queue.ledger_4_3 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_5_1_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_5_1_first_count_at_idx ON queue.ledger_5_1 USING btree (first, count, at DESC);


--
-- Name: ledger_5_1_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_5_1_producer_epoch_sequence_idx ON queue.ledger_5_1 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_5_2_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_5_2_first_count_at_idx ON queue.ledger_5_2 USING btree (first, count, at DESC);


--
-- Name: ledger_5_2_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_5_2_producer_epoch_sequence_idx ON queue.ledger_5_2 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: ledger_5_3_first_count_at_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_5_3_first_count_at_idx ON queue.ledger_5_3 USING btree (first, count, at DESC);


--
-- Name: ledger_5_3_producer_epoch_sequence_idx; Type: INDEX; Schema: queue; Owner: postgres
--

CREATE INDEX ledger_5_3_producer_epoch_sequence_idx ON queue.ledger_5_3 USING btree (producer, epoch, sequence) WHERE (producer IS NOT NULL);


--
-- Name: users_path; Type: INDEX; Schema: users; Owner: users_owner
--

CREATE INDEX users_path ON users.users USING btree ((ARRAY[NULL::text, 'users'::text, handle]));


--
-- Name: SCHEMA shop; Type: ACL; Schema: -; Owner: postgres
--

GRANT USAGE ON SCHEMA shop TO howdah_web;


--
-- Name: SCHEMA users; Type: ACL; Schema: -; Owner: users_owner
--

GRANT USAGE ON SCHEMA users TO howdah_web;


--
-- Name: FUNCTION cache(method text, pattern text, vary text[], max_entries integer, max_age interval); Type: ACL; Schema: http; Owner: postgres
--

GRANT ALL ON FUNCTION http.cache(method text, pattern text, vary text[], max_entries integer, max_age interval) TO users_owner;


--
-- Name: FUNCTION cache_clear(pattern text); Type: ACL; Schema: http; Owner: postgres
--

GRANT ALL ON FUNCTION http.cache_clear(pattern text) TO users_owner;


--
-- Name: FUNCTION call(method text, target text, headers http.header[], body bytea, scheme text); Type: ACL; Schema: http; Owner: postgres
--

GRANT ALL ON FUNCTION http.call(method text, target text, headers http.header[], body bytea, scheme text) TO users_owner;


--
-- Name: FUNCTION registration_path(); Type: ACL; Schema: http; Owner: postgres
--

GRANT ALL ON FUNCTION http.registration_path() TO users_owner;


--
-- Name: FUNCTION handle(statement text, name text, priority integer, role text, search_path text); Type: ACL; Schema: http; Owner: postgres
--

GRANT ALL ON FUNCTION http.handle(statement text, name text, priority integer, role text, search_path text) TO users_owner;


--
-- Name: FUNCTION route(method text, pattern text, function text, role text, search_path text); Type: ACL; Schema: http; Owner: postgres
--

GRANT ALL ON FUNCTION http.route(method text, pattern text, function text, role text, search_path text) TO users_owner;


--
-- Name: FUNCTION unhandle(name text); Type: ACL; Schema: http; Owner: postgres
--

GRANT ALL ON FUNCTION http.unhandle(name text) TO users_owner;


--
-- Name: FUNCTION unroute(method text, pattern text); Type: ACL; Schema: http; Owner: postgres
--

GRANT ALL ON FUNCTION http.unroute(method text, pattern text) TO users_owner;


--
-- Name: FUNCTION validate(method text, pattern text, validates boolean); Type: ACL; Schema: http; Owner: postgres
--

GRANT ALL ON FUNCTION http.validate(method text, pattern text, validates boolean) TO users_owner;


--
-- Name: FUNCTION define(kind text, function text, role text, attempts integer, backoff interval, longest_backoff interval, timeout interval, at_once integer, per_second double precision, priority text, batch integer, alert text, keep_failures interval, keep_dead interval, search_path text); Type: ACL; Schema: job; Owner: postgres
--

GRANT ALL ON FUNCTION job.define(kind text, function text, role text, attempts integer, backoff interval, longest_backoff interval, timeout interval, at_once integer, per_second double precision, priority text, batch integer, alert text, keep_failures interval, keep_dead interval, search_path text) TO users_owner;


--
-- Name: FUNCTION schedule(name text, cron text, kind text, arguments jsonb, every interval, anchor timestamp with time zone, time_zone text, missed text, missed_within interval, missed_most integer, may_overlap boolean, priority text); Type: ACL; Schema: job; Owner: postgres
--

GRANT ALL ON FUNCTION job.schedule(name text, cron text, kind text, arguments jsonb, every interval, anchor timestamp with time zone, time_zone text, missed text, missed_within interval, missed_most integer, may_overlap boolean, priority text) TO users_owner;


--
-- Name: FUNCTION row_type_1(); Type: ACL; Schema: queue; Owner: postgres
--

REVOKE ALL ON FUNCTION queue.row_type_1() FROM PUBLIC;


--
-- Name: FUNCTION row_type_3(); Type: ACL; Schema: queue; Owner: postgres
--

REVOKE ALL ON FUNCTION queue.row_type_3() FROM PUBLIC;


--
-- Name: FUNCTION row_type_4(); Type: ACL; Schema: queue; Owner: postgres
--

REVOKE ALL ON FUNCTION queue.row_type_4() FROM PUBLIC;


--
-- Name: FUNCTION row_type_5(); Type: ACL; Schema: queue; Owner: postgres
--

REVOKE ALL ON FUNCTION queue.row_type_5() FROM PUBLIC;


--
-- Name: TABLE users; Type: ACL; Schema: users; Owner: users_owner
--

GRANT SELECT ON TABLE users.users TO howdah_web;


--
-- Name: TABLE goods; Type: ACL; Schema: shop; Owner: postgres
--

GRANT SELECT,INSERT ON TABLE shop.goods TO howdah_web;


--
-- Name: TABLE ran; Type: ACL; Schema: shop; Owner: postgres
--

GRANT INSERT ON TABLE shop.ran TO howdah_web;


--
-- PostgreSQL database dump complete
--


