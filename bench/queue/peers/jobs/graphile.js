// graphile-worker as a peer, with the settings of its page on performance.

import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";

import { connection, main } from "./measure.js";

const preset = {
  worker: {
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
};

// What it logs of its own would stand between the figures.
const logger = new Logger(() => () => {});
const pool = () => new pg.Pool({ ...connection, max: 25 });

await main({
  left: "select count(*) from (select from graphile_worker._private_jobs limit 1) s",
  async prepare() {
    const utils = await makeWorkerUtils({ pgPool: pool(), logger });
    await utils.migrate();
  },
  async sender() {
    const client = pool();
    return (kind, numbers) =>
      client.query(
        `select count(*) from graphile_worker.add_jobs(array(
           select json_populate_record(null::graphile_worker.job_spec,
             json_build_object('identifier', $1::text, 'payload', json_build_object('number', n)))
           from unnest($2::int[]) n))`,
        [kind, numbers],
      );
  },
  async work(kind, handle) {
    const taskList = { [kind]: (payload) => handle(payload.number) };
    await run({ pgPool: pool(), preset, taskList, logger, noHandleSignals: true });
  },
});
