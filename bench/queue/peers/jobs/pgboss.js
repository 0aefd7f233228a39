// pg-boss as a peer: batches, polled as often as it allows.

import { PgBoss } from "pg-boss";

import { connection, main } from "./measure.js";

const boss = async () => {
  const boss = new PgBoss({ ...connection, max: 20 });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  return boss;
};

await main({
  left: "select count(*) from (select from pgboss.job where state < 'completed' limit 1) s",
  async prepare() {
    const started = await boss();
    for (const queue of ["nothing", "insert", "timed"]) await started.createQueue(queue);
    await started.stop();
  },
  async sender() {
    const started = await boss();
    return (kind, numbers) => started.insert(kind, numbers.map((number) => ({ data: { number } })));
  },
  async work(kind, handle) {
    const started = await boss();
    const options = { batchSize: 1000, pollingIntervalSeconds: 0.5 };
    for (let worker = 0; worker < 4; worker += 1) {
      await started.work(kind, options, async (jobs) => {
        await Promise.all(jobs.map((job) => handle(job.data.number)));
      });
    }
  },
});
