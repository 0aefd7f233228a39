//! Where to connect to, as libpq is told: connection strings in both of their forms, the variables `PG…`, service files and password
//! files (PostgreSQL's documentation, "libpq", sections "Connection Strings" to "The Connection Service File").
//!
//! This crate reads text and decides nothing: [`parse`] a string into parameters, [`service`] and [`password`] look something up in a file's
//! text, and [`VARIABLES`] says which variable stands for which parameter.

use std::collections::BTreeMap;

/// Parameters by their names, such as `host`.
pub type Parameters = BTreeMap<String, String>;

/// The environment's variable of each parameter.
pub const VARIABLES: &[(&str, &str)] = &[
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("port", "PGPORT"),
    ("dbname", "PGDATABASE"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("passfile", "PGPASSFILE"),
    ("service", "PGSERVICE"),
    ("options", "PGOPTIONS"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("channel_binding", "PGCHANNELBINDING"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS"),
];

/// Reads a connection string: `host=… dbname=…`, or `postgresql://…`. An error repeats no value, which may be a password.
pub fn parse(text: &str) -> Result<Parameters, String> {
    match ["postgresql://", "postgres://"].iter().find_map(|scheme| text.strip_prefix(scheme)) {
        Some(rest) => parse_uri(rest),
        None => parse_pairs(text),
    }
}

fn parse_uri(text: &str) -> Result<Parameters, String> {
    let mut parameters = Parameters::new();
    let (text, query) = text.split_once('?').map_or((text, ""), |(text, query)| (text, query));
    let (authority, database) = text.split_once('/').map_or((text, ""), |(text, name)| (text, name));
    // A password may have an @ of its own, though it should be %40.
    let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = user.split_once(':').map_or((user, None), |(user, word)| (user, Some(word)));
    let (mut names, mut ports) = (Vec::new(), Vec::new());
    for host in hosts.split(',') {
        let (name, port) = host_and_port(host)?;
        names.push(decode(name)?);
        ports.push(port.to_owned());
    }
    let mut put = |name: &str, value: String| {
        if !value.is_empty() {
            parameters.insert(name.to_owned(), value);
        }
    };
    put("user", decode(user)?);
    put("password", decode(password.unwrap_or_default())?);
    put("dbname", decode(database)?);
    if names.iter().any(|name| !name.is_empty()) {
        put("host", names.join(","));
    }
    if ports.iter().any(|port| !port.is_empty()) {
        put("port", ports.join(","));
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let Some((name, value)) = pair.split_once('=') else {
            return Err("a parameter behind ? has no =".to_owned());
        };
        put(&decode(name)?, decode(value)?);
    }
    Ok(parameters)
}

fn host_and_port(text: &str) -> Result<(&str, &str), String> {
    if let Some(rest) = text.strip_prefix('[') {
        let Some((name, rest)) = rest.split_once(']') else {
            return Err("a host begins with [ and has no ]".to_owned());
        };
        return match rest.strip_prefix(':') {
            Some(port) => Ok((name, port)),
            None if rest.is_empty() => Ok((name, "")),
            None => Err("something stands between ] and the port".to_owned()),
        };
    }
    Ok(text.split_once(':').unwrap_or((text, "")))
}

/// What `%40` and the like stand for.
fn decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, behind @ ..] = rest {
        if *byte != b'%' {
            bytes.push(*byte);
            rest = behind;
            continue;
        }
        let digit = |at: usize| behind.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            return Err("a % is not followed by two hexadecimal digits".to_owned());
        };
        bytes.push((high * 16 + low) as u8);
        rest = &behind[2..];
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err("a value is no text in UTF-8, or has a byte 0".to_owned()),
    }
}

fn parse_pairs(text: &str) -> Result<Parameters, String> {
    let mut parameters = Parameters::new();
    let mut letters = text.chars().peekable();
    loop {
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        let mut name = String::new();
        while let Some(letter) = letters.next_if(|letter| *letter != '=' && !letter.is_whitespace()) {
            name.push(letter);
        }
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        if name.is_empty() && letters.peek().is_none() {
            return Ok(parameters);
        }
        if letters.next() != Some('=') || name.is_empty() {
            return Err("write it as name=value, or as postgresql://…".to_owned());
        }
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        let is_quoted = letters.next_if_eq(&'\'').is_some();
        let mut value = String::new();
        loop {
            match letters.next() {
                Some('\'') if is_quoted => break,
                None if is_quoted => return Err(format!("the value of {name} has no closing quote")),
                None => break,
                Some('\\') => value.extend(letters.next()),
                Some(letter) if letter.is_whitespace() && !is_quoted => break,
                Some(letter) => value.push(letter),
            }
        }
        parameters.insert(name, value);
    }
}

/// The parameters of a service, in the text of a service file; none if it has none of this name.
pub fn service(text: &str, name: &str) -> Option<Parameters> {
    let mut found: Option<Parameters> = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            if found.is_some() {
                break;
            }
            found = (section == name).then(Parameters::new);
        } else if let (Some(parameters), Some((name, value))) = (&mut found, line.split_once('=')) {
            parameters.insert(name.trim().to_owned(), value.trim().to_owned());
        }
    }
    found
}

/// The password of the first line of a password file that fits host, port, database and user; `\` keeps a `:` from dividing. For a
/// socket the host is its folder.
pub fn password(text: &str, wanted: [&str; 4]) -> Option<String> {
    let is_host = |known: &str| known == wanted[0] || known == "localhost" && wanted[0].starts_with('/');
    let fields_of = |line: &str| -> Option<[String; 5]> { fields(line).try_into().ok() };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(fields_of).find_map(
        |[host, port, database, user, password]| {
            let fits = |known: &str, wanted: &str| known == "*" || known == wanted;
            let is_it = (host == "*" || is_host(&host))
                && fits(&port, wanted[1])
                && fits(&database, wanted[2])
                && fits(&user, wanted[3]);
            is_it.then_some(password)
        },
    )
}

fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut letters) = (Vec::new(), String::new(), line.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => field.extend(letters.next()),
            ':' => fields.push(std::mem::take(&mut field)),
            _ => field.push(letter),
        }
    }
    fields.push(field);
    fields
}
