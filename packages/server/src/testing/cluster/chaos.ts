import { setTimeout } from 'node:timers/promises';
import { FaultReport } from '../../../../../scripts/chaos/faults.ts';
import type { Randomness } from '../../../../../scripts/chaos/randomness.ts';
import type { TaskHandle } from '../../../../client/src/contract/task-handle.ts';
import { type Client, createClient } from '../../../../client/src/create-client.ts';
import { patientMs } from '../../../../core/src/testing/runs.ts';
import type { Cluster } from './cluster.ts';
import { clusterAgentName } from './cluster-agent.ts';
import { checkTask, checkToolRuns } from './cluster-check.ts';
import { openClusterStore } from './cluster-store.ts';
import { faultsOf } from './faults.ts';

interface ClusterChaosOptions {
  readonly kills: number;
  readonly random: Randomness;
  readonly cluster: Cluster;
  readonly onRound: (words: string) => void;
  /** Makes and restores backups during the run. Default: no backup is restored. */
  readonly backups?: Backups | undefined;
}

/** Makes and restores a backup of the cluster's store, while the cluster runs. */
interface Backups {
  make(store: string): Promise<void>;
  restore(store: string): Promise<void>;
}

interface ClusterChaosResult {
  /** The number of times that each fault was injected, by name. */
  readonly counts: Readonly<Record<string, number>>;
  readonly messages: number;
  readonly records: number;
  readonly charges: number;
  readonly looks: number;
  /** Messages, answers and tool runs that are missing, duplicated, out of order or unexpected. */
  readonly faults: FaultReport;
  /** Unexpected events, such as a process that ended by itself. */
  readonly failures: readonly string[];
}

const taskCount = 3;
/** Maximum time to wait until all runs have ended, in milliseconds. It prevents a test from hanging. */
const answerTimeoutMs = patientMs(90_000);
const roundMs = 30_000;

/**
 * Sends messages through random servers, observes them through server A, and injects faults. At the end, it
 * compares the client of server A with the log, and the tool calls with the messages.
 */
export async function clusterChaos(options: ClusterChaosOptions): Promise<ClusterChaosResult> {
  const { random, cluster } = options;
  const [viaA, viaB] = [cluster.a, cluster.b].map(({ url }) =>
    createClient({
      ...{ url, random: () => random.next() },
      ...{ backOff: { baseMs: 50, maxMs: 500 }, answerTimeoutMs: 3000 },
    }),
  ) as [Client, Client];
  try {
    return await runRounds(options, viaA, viaB);
  } finally {
    viaA.close();
    viaB.close();
  }
}

async function runRounds(
  { kills, random, cluster, onRound, backups }: ClusterChaosOptions,
  viaA: Client,
  viaB: Client,
): Promise<ClusterChaosResult> {
  const created = Array.from({ length: taskCount }, () =>
    viaB.createTask({ agent: clusterAgentName }),
  );
  const tasks = (await Promise.all(created)).map(({ id }) => viaA.task(id));
  for (const task of tasks) task.subscribe(() => {});
  const conversation = new Conversation(tasks, viaB, random);
  const counts: Record<string, number> = {};
  const faults = faultsOf(cluster);
  let killed = 0;
  for (let round = 0; killed < kills; round++) {
    await waitUntilReady(cluster, conversation);
    await setTimeout(1500 * random.next());
    const index = round % (faults.length + 1);
    const fault = faults[index];
    if (fault === undefined) {
      if (backups === undefined) continue;
      await restoreBackup(cluster, conversation, backups);
      counts['restore a backup'] = (counts['restore a backup'] ?? 0) + 1;
      onRound(`${killed} kills; restore a backup; ${conversation.summary()}`);
      continue;
    }
    await fault.inject(cluster, random);
    counts[fault.name] = (counts[fault.name] ?? 0) + 1;
    if (fault.isKill) killed++;
    onRound(`${killed} kills; ${fault.name}; ${conversation.summary()}`);
  }
  await conversation.untilAnswered();
  const store = await openClusterStore(cluster.store, cluster.bus);
  try {
    return await checkOutcome({ cluster, log: store.log, conversation, counts });
  } finally {
    await store.close();
  }
}

/**
 * Makes a backup when all messages are answered. Then it sends more messages, and restores the backup while
 * their runs are active. The additional messages are lost on purpose.
 */
async function restoreBackup(
  cluster: Cluster,
  conversation: Conversation,
  backups: Backups,
): Promise<void> {
  await conversation.untilAnswered();
  const before = conversation.sentUntilNow();
  await backups.make(cluster.store);
  conversation.sendMessages();
  await conversation.untilSent();
  await backups.restore(cluster.store);
  conversation.forget(before);
}

/** Waits until all processes are up and the client sees a run. It stops waiting after `roundMs`. */
async function waitUntilReady(
  { a, b, worker }: Cluster,
  conversation: Conversation,
): Promise<void> {
  const late = setTimeout(roundMs, undefined, { ref: false });
  await Promise.race([Promise.all([a, b, worker].map((member) => member.waitUntilUp())), late]);
  conversation.sendMessages();
  await Promise.race([conversation.untilRunSeen(), late]);
}

/** Sends messages to tasks and observes their answers. */
class Conversation {
  readonly tasks: readonly TaskHandle[];
  sent: ReadonlyMap<string, string[]>;
  readonly #other: Client;
  readonly #random: Randomness;
  readonly #sending = new Set<Promise<void>>();
  #count = 0;

  constructor(tasks: readonly TaskHandle[], other: Client, random: Randomness) {
    this.tasks = tasks;
    this.#other = other;
    this.#random = random;
    this.sent = new Map(tasks.map(({ id }) => [id, []]));
  }

  get messages(): number {
    return this.#count;
  }

  /** Sends one more message to each idle task, through a random server. */
  sendMessages(): void {
    for (const task of this.tasks) {
      if (this.#isBusy(task)) continue;
      const message = `m${++this.#count}`;
      this.sent.get(task.id)?.push(message);
      const handle = this.#random.next() < 0.5 ? task : this.#other.task(task.id);
      const sending = sendWithRetry(handle, message);
      this.#sending.add(sending);
      void sending.then(() => this.#sending.delete(sending));
    }
  }

  sentUntilNow(): ReadonlyMap<string, string[]> {
    return new Map([...this.sent].map(([id, messages]) => [id, [...messages]]));
  }

  /** Resolves when the servers have acknowledged all messages. */
  async untilSent(): Promise<void> {
    await Promise.all([...this.#sending]);
  }

  /** Sets the messages that the log must contain. No other messages are expected. */
  forget(sent: ReadonlyMap<string, string[]>): void {
    this.sent = sent;
  }

  /** Resolves when the client sees an active run. */
  async untilRunSeen(): Promise<void> {
    const isSeen = (task: TaskHandle) => {
      const { isRunning, connection } = task.snapshot();
      return isRunning && connection.state === 'live';
    };
    while (!this.tasks.some(isSeen)) await setTimeout(20);
  }

  summary(): string {
    const states = this.tasks.map((task) => task.snapshot().connection.state);
    return `${this.#count} messages; connections ${states.join(', ')}`;
  }

  /** Resolves when all messages are sent, answered and visible to the client. */
  async untilAnswered(): Promise<void> {
    const late = setTimeout(answerTimeoutMs, 'late' as const, { ref: false });
    const done = Promise.all([...this.#sending]).then(() =>
      Promise.all(this.tasks.map((task) => this.#settled(task))),
    );
    await Promise.race([done, late]);
  }

  async #settled(task: TaskHandle): Promise<void> {
    while (this.#isBusy(task)) await setTimeout(100);
  }

  #isBusy(task: TaskHandle): boolean {
    const sent = this.sent.get(task.id) ?? [];
    const last = JSON.stringify(task.transcript.slice(-1));
    const isAnswered = sent.length === 0 || last.includes(`End ${sent.at(-1)}:`);
    return !isAnswered || task.snapshot().isRunning;
  }
}

/** Sends a message until a server accepts it. The idempotency key makes repeated sends harmless. */
async function sendWithRetry(task: TaskHandle, message: string): Promise<void> {
  for (;;) {
    try {
      await task.send(message, { key: message });
      return;
    } catch {
      await setTimeout(200);
    }
  }
}

async function checkOutcome(options: {
  readonly cluster: Cluster;
  readonly log: Parameters<typeof checkTask>[0];
  readonly conversation: Conversation;
  readonly counts: Readonly<Record<string, number>>;
}): Promise<ClusterChaosResult> {
  const { cluster, log, conversation, counts } = options;
  const found = new FaultReport();
  let records = 0;
  for (const task of conversation.tasks) {
    const { state } = task.snapshot();
    const sent = conversation.sent.get(task.id) ?? [];
    found.addAll(await checkTask(log, { id: task.id, transcript: task.transcript, sent }));
    records += state.through;
  }
  const { a, b, worker } = cluster;
  const { charges, looks, report } = checkToolRuns(cluster.doneFile);
  found.addAll(report);
  const failures = [a, b, worker].flatMap(({ unexpectedExits }) => unexpectedExits);
  const numbers = { messages: conversation.messages, records, charges, looks };
  return { counts, ...numbers, faults: found, failures };
}
