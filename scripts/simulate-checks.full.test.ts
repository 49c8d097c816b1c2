import { expect, test } from 'vitest';
import { doubledRuns } from './simulate/check.ts';
import { Network } from './simulate/network.ts';
import { splitSeeds } from './simulate/run-seeds.ts';
import { simulateSeed } from './simulate/simulate-seed.ts';
import { emptyState } from './simulate/stores/store-state.ts';
import { Machine, World } from './simulate/world.ts';

/**
 * Runs a world with two machines that exchange messages until `untilMs`. It includes a pause and a
 * crash.
 */
async function playedWorld(seed: number): Promise<World> {
  const world = new World(seed, { keepTrace: true });
  const network = new Network(world);
  const [a, b] = [new Machine('a'), new Machine('b')];
  const send = (from: Machine, to: Machine) =>
    world.scheduleAt(to, network.arrival(from, to), 'answers', () => void send(to, from));
  send(a, b);
  send(a, b);
  await world.runUntil(() => false, 100);
  b.pausedUntil = 300;
  network.partition(a, b, 400);
  await world.runUntil(() => false, 600);
  world.crash(b);
  await world.runUntil(() => false, 700);
  return world;
}

test('the same seed gives the same run, and another seed gives another one', async () => {
  const [one, again, other] = [await playedWorld(1), await playedWorld(1), await playedWorld(2)];
  expect(again.trace).toEqual(one.trace);
  expect(again.digest()).toBe(one.digest());
  expect(other.digest()).not.toBe(one.digest());
});

test('a paused machine does nothing until it continues, and a crashed one nothing more', async () => {
  const { trace } = await playedWorld(3);
  const times = (name: string) =>
    trace
      .filter((line) => line.includes(` ${name} answers`))
      .map((line) => Number.parseFloat(line));
  expect(times('b').filter((at) => at > 100 && at < 300)).toEqual([]);
  expect(times('b').filter((at) => at > 600)).toEqual([]);
  expect(times('b').filter((at) => at > 500)).not.toEqual([]);
});

test('canceled events do not run, and time passes only with events', async () => {
  const world = new World(4, { keepTrace: false });
  const machine = new Machine('a');
  const ran: string[] = [];
  const cancel = world.schedule(machine, 10, 'canceled', () => ran.push('canceled'));
  world.schedule(machine, 20, 'kept', () => ran.push(`kept at ${Math.floor(world.now)}`));
  cancel();
  expect(await world.runUntil(() => ran.length > 0, 1000)).toBe(true);
  expect(ran).toEqual(['kept at 20']);
  expect(world.steps).toBe(1);
});

test('the clock of a machine can be set without an effect on the order of events', async () => {
  const world = new World(5, { keepTrace: false });
  const [a, b] = [new Machine('a'), new Machine('b')];
  a.clockErrorMs = 3_600_000;
  expect(world.timeOf(a) - world.timeOf(b)).toBe(3_600_000);
  const order: string[] = [];
  world.schedule(a, 20, 'later', () => order.push('later'));
  world.schedule(b, 10, 'earlier', () => order.push('earlier'));
  await world.runUntil(() => order.length === 2, 1000);
  expect(order).toEqual(['earlier', 'later']);
});

test('a night of seeds is split into processes that end before they need much memory', () => {
  const shares = splitSeeds({ first: 7, count: 10_001 }, 2);
  expect(Math.max(...shares.map(({ count }) => count))).toBeLessThanOrEqual(200);
  const seeds = shares.flatMap(({ first, count }) =>
    Array.from({ length: count }, (_, index) => first + index),
  );
  expect(seeds).toEqual(Array.from({ length: 10_001 }, (_, index) => 7 + index));
  expect(splitSeeds({ first: 0, count: 3 }, 4)).toHaveLength(3);
  expect(splitSeeds({ first: 0, count: 10 }, 4).map(({ count }) => count)).toEqual([3, 3, 3, 1]);
  expect(splitSeeds({ first: 0, count: 0 }, 4)).toEqual([]);
});

test('a tool runs again if a rewind removed its start before the server knew of the start', async () => {
  // In this seed, the store's answer to the append of the server arrives after the rewind.
  const options = { seed: 3_008_304, store: 'postgres', faults: [1, 3, 5, 7] } as const;
  expect((await simulateSeed(options)).problems).toEqual([]);
});

test('two runs of a tool for one message are found, also after a rewind', () => {
  const run = (at: number) => ({ tool: 'charge', toolCallId: 'call', message: 'm', at });
  expect(doubledRuns([run(1)], [])).toEqual(new Map());
  expect(doubledRuns([run(1), run(2)], [])).toEqual(new Map([['m', 2]]));
  const state = emptyState(1);
  const rewinds = [{ at: 5, before: state, after: state }];
  expect(doubledRuns([run(1), run(6)], rewinds)).toEqual(new Map());
  expect(doubledRuns([run(6), run(7)], rewinds)).toEqual(new Map([['m', 2]]));
});
