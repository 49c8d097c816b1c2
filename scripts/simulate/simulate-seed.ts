// The log loads this module on demand. During a simulation, loading takes real time, in which
// virtual time would advance. So the module is loaded here, and the same seed gives the same run.
import '../../packages/log/src/any-log/load-state.ts';
import type { TaskHandle } from '@millrace/client';
import { sessionId } from '@millrace/core';
import { hasWork } from '@millrace/log/store';
import { Randomness } from '../chaos/randomness.ts';
import { checkOutcome, type SentMessage } from './check.ts';
import { Cluster, type StoreKind } from './cluster.ts';
import { describeFault, type Fault, faultyMs, injectFault, planFaults } from './faults.ts';
import { describe, installGlobals } from './globals.ts';
import type { Plant } from './plants.ts';
import { agentName } from './simulated-agent.ts';
import { type Machine, World } from './world.ts';

export interface SeedOptions {
  readonly seed: number;
  /** The store. Default: the seed chooses it. */
  readonly store?: StoreKind | undefined;
  /** The numbers of the faults to inject. Default: all faults of the seed's plan. */
  readonly faults?: readonly number[] | undefined;
  readonly plant?: Plant | undefined;
  readonly keepTrace?: boolean | undefined;
}

export interface SeedResult {
  readonly seed: number;
  readonly store: StoreKind;
  readonly problems: readonly string[];
  /** The faults that were injected. */
  readonly faults: readonly Fault[];
  /** A hash of the run. Runs with equal options have equal hashes. */
  readonly digest: string;
  readonly steps: number;
  readonly trace: readonly string[];
  /** The number of records, for the summary. */
  readonly records: number;
  readonly messages: number;
}

/** Maximum time for the cluster to recover after the last fault. */
const recoveryMs = 900_000;

/** Runs one simulation from start to end. */
export async function simulateSeed(options: SeedOptions): Promise<SeedResult> {
  const { seed, plant, keepTrace = false } = options;
  const random = new Randomness(seed);
  const [planSeed, scheduleSeed, idSeed, loadSeed] = [
    random.seed(),
    random.seed(),
    random.seed(),
    random.seed(),
  ];
  // Most seeds use the models of the stores. The models are faster than a real file, and they can
  // fail in more ways.
  const { store = random.oneOf(['sqlite', 'sqlite', 'postgres', 'postgres', 'file']) } = options;
  const plan = planFaults(planSeed);
  const faults = plan.filter(({ number }) => options.faults?.includes(number) ?? true);
  const world = new World(scheduleSeed, { keepTrace });
  const restore = installGlobals(world, idSeed);
  let cluster: Cluster | undefined;
  try {
    cluster = new Cluster({ world, store, plant });
    const running = cluster;
    const load = new Workload(cluster, new Randomness(loadSeed));
    for (const fault of faults)
      world.scheduleAt(cluster.chaos, fault.at, describeFault(fault), () =>
        injectFault(running, fault),
      );
    await world.runUntil(() => false, faultyMs);
    const isDone = await world.runUntil(() => load.isSettled(), faultyMs + recoveryMs);
    if (!isDone) world.fail(`The cluster did not recover: ${load.describe()}`);
    else checkOutcome({ cluster, sent: load.sent, handles: load.handles });
    cluster.close();
    const { problems, steps, trace } = world;
    const { records } = load;
    return {
      ...{ seed, store, problems, faults, steps, trace, records },
      ...{ digest: world.digest(), messages: load.sent.length },
    };
  } finally {
    cluster?.close();
    restore();
  }
}

/** Two clients that create tasks, send messages and follow the tasks. */
class Workload {
  readonly sent: SentMessage[] = [];
  readonly handles: TaskHandle[] = [];
  readonly #cluster: Cluster;
  readonly #random: Randomness;
  #working = 0;

  constructor(cluster: Cluster, random: Randomness) {
    this.#cluster = cluster;
    this.#random = random;
    const taskCount = random.between(1, 2);
    const [first, ...others] = cluster.clients;
    if (first === undefined) return;
    this.#run(first, async () => {
      const client = cluster.connect(first);
      const ids: string[] = [];
      for (let n = 0; n < taskCount; n++)
        ids.push(
          (
            await this.#retry(first, () =>
              client.createTask({ agent: agentName }, { key: `task-${n}` }),
            )
          ).id,
        );
      // The rows that are saved with a commit can be older than the newest rows. So the next commit
      // is the first one that includes all tasks.
      cluster.firstCommit = cluster.disk.commits + 1;
      for (const id of ids) this.#follow(first, client.task(id));
      for (const machine of others)
        this.#run(machine, async () => {
          const own = cluster.connect(machine);
          for (const id of ids) this.#follow(machine, own.task(id));
        });
    });
  }

  /** The number of records in the store. */
  get records(): number {
    return [...this.#cluster.disk.state.sessions.values()].reduce(
      (sum, { records }) => sum + records.length,
      0,
    );
  }

  /**
   * Returns true if all messages are sent, no run is open, and all clients have received all
   * records.
   */
  isSettled(): boolean {
    if (this.#working > 0) return false;
    return this.handles.every((handle) => {
      const row = this.#cluster.disk.state.sessions.get(sessionId(handle.id))?.row;
      const { connection, state } = handle.snapshot();
      // If the last run of a task failed, its stream has ended.
      const isConnected = connection.state === 'live' || connection.state === 'ended';
      const isUpToDate = isConnected && state.through === row?.through;
      return row !== undefined && !hasWork(row) && isUpToDate;
    });
  }

  /** Describes the tasks and their clients, for a run that did not reach a stable state. */
  describe(): string {
    const tasks = this.handles.map((handle) => {
      const row = this.#cluster.disk.state.sessions.get(sessionId(handle.id))?.row;
      const { connection, state } = handle.snapshot();
      const error = 'error' in connection ? ` (${describe(connection.error)})` : '';
      const work = `${row?.openWork.join(', ')}, ${row?.queuedCommands} commands`;
      const status = this.#cluster.rows.state.get('tasks')?.get(handle.id)?.data['status'];
      return `${handle.id}: client ${connection.state}${error} at ${state.through} of ${row?.through}; open: ${work}; row ${status}`;
    });
    return `${this.#working} senders work; ${tasks.join('; ')}`;
  }

  /** Follows a task and sends messages to it. */
  #follow(machine: Machine, handle: TaskHandle): void {
    handle.subscribe(() => this.#onChange(machine, handle));
    this.handles.push(handle);
    const count = this.#random.between(1, 3);
    this.#run(machine, async () => {
      for (let n = 1; n <= count; n++) {
        await this.#cluster.world.sleep(machine, this.#random.below(25_000), 'thinks');
        const text = `m${n}-of-${machine.name}-to-${handle.id}`;
        const { offset } = await this.#retry(machine, () => handle.send(text, { key: text }));
        this.sent.push({ task: handle.id, text, offset });
      }
    });
  }

  /**
   * Opens a stream again after it has ended. A stream ends when its task ends, but a later message
   * resumes the task.
   */
  #onChange(machine: Machine, handle: TaskHandle): void {
    const { world, disk } = this.#cluster;
    if (handle.snapshot().connection.state !== 'ended') return;
    const session = sessionId(handle.id);
    const { openWork = [] } = disk.state.sessions.get(session)?.row ?? {};
    if (openWork.length > 0 && disk.leases.isDriven(session))
      world.fail(`Task ${handle.id}: the stream of ${machine.name} ended during a run`);
    world.schedule(machine, 1000, 'reconnects', () => handle.reconnect());
  }

  /** Repeats a request until it succeeds. The idempotency key prevents duplicates. */
  async #retry<T>(machine: Machine, request: () => Promise<T>): Promise<T> {
    const { world } = this.#cluster;
    for (;;) {
      try {
        return await request();
      } catch (error) {
        world.note(`${machine.name} repeats after ${describe(error)}`);
        await world.sleep(machine, 500, 'retries');
      }
    }
  }

  #run(machine: Machine, work: () => Promise<void>): void {
    const { world } = this.#cluster;
    this.#working++;
    world.schedule(machine, 0, 'works', () => {
      work()
        .catch((error: unknown) => world.fail(`${machine.name} failed: ${describe(error)}`))
        .finally(() => this.#working--);
    });
  }
}
