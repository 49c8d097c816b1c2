import { Randomness } from '../chaos/randomness.ts';
import type { Cluster } from './cluster.ts';
import type { Machine } from './world.ts';

/** The kinds of faults, each with its relative frequency. */
const weights = {
  crash: 4,
  crashAtCommit: 4,
  pause: 4,
  clockStep: 4,
  partition: 3,
  cut: 3,
  slowNetwork: 1,
  repeatRequests: 2,
  diskFull: 1,
  diskBroken: 1,
  restore: 1,
  loseTail: 1,
} as const;

type FaultKind = keyof typeof weights;

/**
 * A fault in a plan. All its numbers are fixed when the plan is created. So removing a fault does
 * not change the others.
 */
export interface Fault {
  readonly number: number;
  readonly kind: FaultKind;
  /** The time of the fault, in milliseconds since the start. */
  readonly at: number;
  /** The time for which the fault lasts, in milliseconds. */
  readonly ms: number;
  /** A number that selects the machine. `other` selects a second machine. */
  readonly target: number;
  readonly other: number;
  /** A number that is at least 0 and less than 1. It selects the details of the fault. */
  readonly amount: number;
}

/** Faults happen only in this time. After it, the cluster must recover. */
export const faultyMs = 90_000;
const maxFaults = 9;

/** Returns the faults of a seed, sorted by time. */
export function planFaults(seed: number): readonly Fault[] {
  const random = new Randomness(seed);
  const kinds = (Object.keys(weights) as FaultKind[]).flatMap((kind) =>
    Array.from({ length: weights[kind] }, () => kind),
  );
  const count = random.between(1, maxFaults);
  return Array.from({ length: count }, () => ({
    kind: random.oneOf(kinds) ?? 'crash',
    at: random.below(faultyMs),
    // Some durations are longer than a lease, and some are shorter.
    ms: random.oneIn(3) ? random.between(16_000, 40_000) : random.between(50, 8000),
    target: random.below(1000),
    other: random.below(1000),
    amount: random.next(),
  }))
    .sort((a, b) => a.at - b.at)
    .map((fault, index) => ({ number: index + 1, ...fault }));
}

/** Applies a fault to the cluster now. */
export function injectFault(cluster: Cluster, fault: Fault): void {
  const { world, network, disk, servers, clients } = cluster;
  const { ms, amount } = fault;
  const server = pick(servers, fault.target);
  const { database } = cluster;
  const all = [...servers, ...clients];
  const linked = database === undefined ? all : [...servers, database.machine, ...clients];
  const until = world.now + ms;
  world.note(`fault ${describeFault(fault)}`);
  switch (fault.kind) {
    case 'crash':
      if (database !== undefined && amount < 0.3) return database.restart(ms);
      return cluster.restart(server, ms);
    case 'crashAtCommit':
      return armCrash(cluster, server, fault);
    case 'pause':
      // The machine is paused, as with SIGSTOP. Its messages and timers wait.
      pick(amount < 0.8 ? servers : clients, fault.target).pausedUntil = until;
      return;
    case 'clockStep':
      pick(all, fault.target).clockErrorMs += stepsMs[fault.other % stepsMs.length] ?? 0;
      return;
    case 'partition':
      return network.partition(pick(linked, fault.target), pick(linked, fault.other), ms);
    case 'cut':
      database?.cut(pick(all, fault.target));
      return network.cut(pick(all, fault.target));
    case 'slowNetwork':
      network.slowUntil = until;
      return;
    case 'repeatRequests':
      network.repeatUntil = until;
      return;
    case 'diskFull':
      disk.fullUntil = until;
      return;
    case 'diskBroken':
      disk.brokenUntil = until;
      return;
    case 'restore':
      return cluster.restore(Math.ceil(disk.commits * amount), ms, {
        ...{ what: 'copy', withRows: fault.other % 2 === 0 },
      });
    case 'loseTail':
      return cluster.restore(disk.commits - Math.ceil(amount * 5), ms, {
        ...{ what: 'wal', withRows: false },
      });
    default:
      return fault.kind satisfies never;
  }
}

const stepsMs = [20_000, -20_000, 3_600_000, -3_600_000];

/** Plans a crash of the server at its next commit. */
function armCrash(cluster: Cluster, server: Machine, { amount, ms }: Fault): void {
  if (!server.isUp) return;
  const { disk } = cluster;
  disk.crashAt.set(server, amount < 0.5 ? 'before' : 'after');
  server.onCrash.add(() => {
    disk.crashAt.delete(server);
    cluster.bootLater(server, ms);
  });
}

function pick(machines: readonly Machine[], number: number): Machine {
  return machines[number % machines.length] as Machine;
}

/** Returns a fault as text. */
export function describeFault({ number, kind, at, ms, target, other, amount }: Fault): string {
  return `${number}: ${kind} at ${at} for ${ms} ms (${target}, ${other}, ${amount.toFixed(3)})`;
}
