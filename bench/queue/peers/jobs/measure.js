// What both peers in Node have in common: what is asked for on the command line, and how it is timed.
//
//   node PEER.js prepare
//   node PEER.js enqueue KIND COUNT               10,000 in a statement; prints the seconds
//   node PEER.js work KIND COUNT                  until so many are done; prints the seconds, from the first job on
//   node PEER.js latency COUNT MILLISECONDS       one job each so many milliseconds; prints microseconds from commit to start, a line each
//
// KIND is nothing, or insert: a row, committed by itself. The connection is that of libpq's variables.

import pg from "pg";

export const connection = {
  host: process.env.PGHOST,
  port: Number(process.env.PGPORT),
  user: process.env.PGUSER,
  database: process.env.PGDATABASE,
};

const seconds = (begun) => Number(process.hrtime.bigint() - begun) / 1e9;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Waits until as many jobs have been run, and the database has no more of them. */
async function until(isDone, left) {
  const client = new pg.Client(connection);
  await client.connect();
  while (!isDone()) await pause(5);
  while (Number((await client.query(left)).rows[0].count) > 0) await pause(5);
  await client.end();
}

export async function main(peer) {
  const [task, ...rest] = process.argv.slice(2);
  if (task === "prepare") {
    await peer.prepare();
  } else if (task === "enqueue") {
    const [kind, count] = [rest[0], Number(rest[1])];
    const send = await peer.sender();
    const begun = process.hrtime.bigint();
    for (let first = 0; first < count; first += 10000) {
      const numbers = Array.from({ length: Math.min(10000, count - first) }, (_, place) => first + place);
      await send(kind, numbers);
    }
    console.log(seconds(begun));
  } else if (task === "work") {
    const [kind, count] = [rest[0], Number(rest[1])];
    let done = 0;
    let begun;
    const pool = new pg.Pool({ ...connection, max: 20 });
    const insert = (number) => pool.query({ name: "insert", text: "insert into ran values ($1)", values: [number] });
    const run = async (number) => {
      begun ??= process.hrtime.bigint();
      if (kind === "insert") await insert(number);
      done += 1;
    };
    await peer.work(kind, run);
    await until(() => done >= count, peer.left);
    console.log(seconds(begun));
  } else if (task === "latency") {
    const [count, milliseconds] = rest.map(Number);
    const started = new Map();
    await peer.work("timed", async (number) => void started.set(number, process.hrtime.bigint()));
    await pause(1000);
    const send = await peer.sender();
    const committed = [];
    for (let number = 0; number < count; number += 1) {
      await send("timed", [number]);
      committed.push(process.hrtime.bigint());
      await pause(milliseconds);
    }
    await pause(3000);
    for (let number = 0; number < count; number += 1) {
      if (!started.has(number)) throw new Error(`job ${number} has not run`);
      console.log(Number(started.get(number) - committed[number]) / 1000);
    }
  }
  process.exit(0);
}
