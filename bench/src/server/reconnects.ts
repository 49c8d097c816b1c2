import { median } from './fan-out.ts';
import { startBareServer, startMillraceServer } from './servers.ts';
import { Viewers } from './viewers.ts';

const count = 1_000;
const rounds = 5;

/** Measures many viewers that reconnect at once, with and without their last event id. */
export async function compareReconnects(): Promise<void> {
  await using our = await startMillraceServer();
  await using plain = await startBareServer();
  for (let index = 0; index < 5_000; index++) await our.send(`word${index} `);
  const from = our.through;
  const missed: Buffer[] = [];
  for (let index = 0; index < 100; index++) {
    await our.send(index === 99 ? '#end#' : 'more ');
    missed.push(our.frame);
  }
  plain.greeting = Buffer.concat(missed);
  await using ourViewers = await Viewers.start(our.port, count);
  await using bareViewers = await Viewers.start(plain.port, count);
  const times = { resumed: [] as number[], late: [] as number[], bare: [] as number[] };
  for (let round = -1; round < rounds; round++) {
    const resumed = await timed(() =>
      ourViewers.connect(our.path, '#end#', { lastEventId: String(from) }),
    );
    const late = await timed(() => ourViewers.connect(our.path, '#end#'));
    const bareTime = await timed(() => bareViewers.connect(plain.path, '#end#'));
    if (round < 0) continue;
    times.resumed.push(resumed);
    times.late.push(late);
    times.bare.push(bareTime);
  }
  const [resumed, late, bareTime] = [times.resumed, times.late, times.bare].map(median);
  console.log(
    `${count} reconnects at once, until all have received everything: ${ms(resumed)} with their last id, ${ms(late)} without one, bare node:http ${ms(bareTime)}: ${((bareTime ?? 0) / (resumed ?? 1)).toFixed(2)} and ${((bareTime ?? 0) / (late ?? 1)).toFixed(2)} of it`,
  );
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

const ms = (time: number | undefined) => `${(time ?? 0).toFixed(0)} ms`;
