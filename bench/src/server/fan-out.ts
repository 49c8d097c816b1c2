import {
  type BareServer,
  type MillraceServer,
  startBareServer,
  startMillraceServer,
} from './servers.ts';
import { Viewers, type ViewersReport } from './viewers.ts';

const framesAtOnce = 20;
const bursts = 10;
const rounds = 5;
const pacedRounds = 3;
const word = 'about as much as a model says in a read, or so, ';

/** Sends frames to many viewers, at full speed and at the pace of a model. The bare server sends the same bytes. */
export async function compareFanOut(count: number): Promise<void> {
  await using our = await startMillraceServer();
  await using plain = await startBareServer();
  await using ourViewers = await Viewers.start(our.port, count);
  await using bareViewers = await Viewers.start(plain.port, count);
  await ourViewers.connect(our.path, 'item_started');
  await bareViewers.connect(plain.path, 'hello');
  const ourTimes: number[] = [];
  const bareTimes: number[] = [];
  for (let round = -1; round < rounds; round++) {
    const frames: Buffer[][] = [];
    const ourMs = await sendAll(our, ourViewers, frames);
    const bareMs = await writeAll(plain, bareViewers, frames);
    if (round < 0) continue;
    ourTimes.push(ourMs);
    bareTimes.push(bareMs);
  }
  const [ourMs, bareMs] = [median(ourTimes), median(bareTimes)];
  const rate = (ms: number) => Math.round((count * framesAtOnce * bursts * 1000) / ms);
  const ourDelays: ViewersReport[] = [];
  const bareDelays: ViewersReport[] = [];
  for (let round = 0; round < pacedRounds; round++) {
    ourDelays.push(await paced((chunk) => our.send(chunk), ourViewers));
    bareDelays.push(await paced((chunk) => plain.write(frameOf(our, chunk)), bareViewers));
  }
  console.log(
    `${count} viewers: ${rate(ourMs)} deliveries/s, bare node:http ${rate(bareMs)}: ${(bareMs / ourMs).toFixed(2)} of it   goal: ≥ 0.7`,
  );
  console.log(
    `    one frame every 20 ms, p50 and p99: ${medianDelays(ourDelays)}, bare ${medianDelays(bareDelays)}`,
  );
}

async function sendAll(our: MillraceServer, viewers: Viewers, frames: Buffer[][]): Promise<number> {
  const start = performance.now();
  for (let burst = 0; burst < bursts; burst++) {
    const burstFrames: Buffer[] = [];
    const all = await viewers.expect(mark(burst), { isFresh: true });
    for (let index = 1; index <= framesAtOnce; index++) {
      await our.send(index === framesAtOnce ? `${word}${mark(burst)}` : word);
      burstFrames.push(our.frame);
    }
    frames.push(burstFrames);
    await all();
  }
  return performance.now() - start;
}

async function writeAll(
  plain: BareServer,
  viewers: Viewers,
  frames: readonly (readonly Buffer[])[],
): Promise<number> {
  const start = performance.now();
  for (const [burst, burstFrames] of frames.entries()) {
    const all = await viewers.expect(mark(burst), { isFresh: true });
    for (const frame of burstFrames) await plain.write(frame);
    await all();
  }
  return performance.now() - start;
}

async function paced(
  send: (chunk: string) => Promise<void>,
  viewers: Viewers,
): Promise<ViewersReport> {
  const all = await viewers.expect('#last#', { isTimed: true, isFresh: true });
  for (let index = 0; index < 100; index++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const time = (performance.timeOrigin + performance.now()).toFixed(4);
    await send(`@${time}@${index === 99 ? '#last#' : ''} `);
  }
  return all();
}

/** Returns a frame with the same format and length as a frame of Millrace. */
function frameOf({ frame }: MillraceServer, chunk: string): Buffer {
  return Buffer.from(frame.toString().replace(/"chunk":"[^"]*"/, `"chunk":"${chunk}"`));
}

const mark = (burst: number) => `#burst ${burst}#`;

function medianDelays(reports: readonly ViewersReport[]): string {
  const p50 = median(reports.map((report) => report.p50));
  const p99 = median(reports.map((report) => report.p99));
  return delays({ p50, p99 });
}

export function delays({ p50, p99 }: Pick<ViewersReport, 'p50' | 'p99'>): string {
  return `${p50.toFixed(2)} and ${p99.toFixed(2)} ms`;
}

export function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}
