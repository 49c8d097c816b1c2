import { median } from './fan-out.ts';
import { bare, ours } from './servers.ts';
import { Viewers } from './viewers.ts';

const count = 1_000;
const rounds = 5;

/** Everybody comes back at once, with the last id that they have, or without. */
export async function compareStorm(): Promise<void> {
  await using our = await ours();
  await using plain = await bare();
  for (let index = 0; index < 5_000; index++) await our.say(`word${index} `);
  const from = our.through;
  const missed: Buffer[] = [];
  for (let index = 0; index < 100; index++) {
    await our.say(index === 99 ? '#end#' : 'more ');
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
    const plainly = await timed(() => bareViewers.connect(plain.path, '#end#'));
    if (round < 0) continue;
    times.resumed.push(resumed);
    times.late.push(late);
    times.bare.push(plainly);
  }
  const [resumed, late, plainly] = [times.resumed, times.late, times.bare].map(median);
  console.log(
    `storm of ${count} reconnects, all told: ${ms(resumed)} by their last id, ${ms(late)} without one, bare node:http ${ms(plainly)}: ${((plainly ?? 0) / (resumed ?? 1)).toFixed(2)} and ${((plainly ?? 0) / (late ?? 1)).toFixed(2)} of it`,
  );
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

const ms = (time: number | undefined) => `${(time ?? 0).toFixed(0)} ms`;
