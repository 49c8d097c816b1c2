import { setTimeout } from 'node:timers/promises';
import { HistoryRecorder } from './history.ts';
import type { DriverTask, ReaderTask, SubmitterTask } from './messages.ts';
import {
  ProcessPool,
  type Role,
  type RunningProcess,
  randomClockStep,
  randomKillPlan,
  type Task,
} from './processes.ts';
import { Randomness } from './randomness.ts';

interface RoundOptions {
  readonly path: string;
  readonly codeCache: string;
  readonly number: number;
  readonly kills: number;
  readonly random: Randomness;
  /** Called once, while the processes run. */
  readonly onMiddle?: (() => Promise<void>) | undefined;
}

/** A process that was killed. */
export interface Kill {
  readonly role: Role;
  /**
   * The commit point at which the process was killed, or `anywhere` if it was killed after a time.
   */
  readonly where: string;
}

const sessionCount = 3;
const readerCount = 2;
/** The lease duration of a driver that will be paused. The pause is longer than the lease. */
const shortLeaseMs = 400;
/** Maximum duration of a round. It only prevents hangs. */
const timeoutMs = 120_000;

/**
 * Runs some sessions from start to end. During this time, it kills the given number of processes.
 */
export class Round {
  readonly history: HistoryRecorder = new HistoryRecorder();
  readonly sessions: readonly string[];
  readonly killed: Kill[] = [];
  /**
   * The number of clock changes, and the number of drivers that were paused until their lease
   * expired.
   */
  readonly counts: { clockSteps: number; pauses: number } = { clockSteps: 0, pauses: 0 };
  readonly #options: RoundOptions;
  readonly #processes: ProcessPool;
  /** Resolves when the sessions exist. Other processes can then write to them and read them. */
  readonly #firstDriverReady: PromiseWithResolvers<unknown> = Promise.withResolvers();
  /**
   * The names of drivers that may be fenced, because a different driver takes over, or because
   * their lease is short.
   */
  readonly #replaceable = new Set<string>();
  #middle: Promise<void> | undefined;
  #started = 0;
  #isOver = false;

  constructor(options: RoundOptions) {
    const { path, codeCache, number } = options;
    const name = (index: number) => `round ${number}, session ${index + 1}`;
    this.#options = options;
    this.sessions = Array.from({ length: sessionCount }, (_, index) => name(index));
    const onKilled = (role: Role, where: string) => this.#countKill(role, where);
    const onAdmitted = (admission: unknown) => {
      for (const { task, send } of this.#processes.running)
        if (task.role === 'producer') send(admission);
    };
    this.#processes = new ProcessPool({
      path,
      codeCache,
      history: this.history,
      onKilled,
      onAdmitted,
      onFenced: (process, session) => this.#checkFenced(process, session),
    });
  }

  async run(): Promise<void> {
    const { random } = this.#options;
    const drivers = this.#keepDriving(new Randomness(random.seed()));
    const producers = this.#keepProducing(new Randomness(random.seed()));
    const submitters = this.#keepSubmitting(new Randomness(random.seed()));
    const contenders = this.#keepContending(new Randomness(random.seed()));
    const readers = Array.from({ length: readerCount }, () =>
      this.#keepReading(new Randomness(random.seed())),
    );
    await Promise.all([drivers, producers, submitters, contenders]);
    await this.#middle;
    await this.#withTimeout(this.#finish(random));
    await this.#withTimeout(Promise.all(readers));
  }

  /**
   * Starts one driver after the other. Each new driver takes over from a killed driver, or fences a
   * running driver.
   */
  async #keepDriving(random: Randomness): Promise<void> {
    while (!this.#isOver) {
      if (random.oneIn(5)) {
        await this.#pauseDriver(random);
        continue;
      }
      const willBeKilled = !random.oneIn(3);
      const takeOver = this.#processes.running.some(isDriver);
      const driver = this.#start(
        this.#driverTask({ takeOver, isLast: false }),
        random,
        willBeKilled,
      );
      const hasRunLongEnough = driver.ready.then(() => setTimeout(random.below(150)));
      await (willBeKilled ? driver.exit : Promise.race([driver.exit, hasRunLongEnough]));
    }
    await Promise.all(this.#processes.running.filter(isDriver).map(({ exit }) => exit));
  }

  /** Pauses a driver until its lease has expired and a different driver has taken its sessions. */
  async #pauseDriver(random: Randomness): Promise<void> {
    const takeOver = this.#processes.running.some(isDriver);
    const short = { leaseMs: shortLeaseMs, pauseAfterMs: random.below(150) };
    const task = this.#driverTask({ takeOver, isLast: false, ...short });
    const paused = this.#start(task, random, false);
    await Promise.race([paused.exit, paused.paused]);
    if (this.#isOver) return;
    this.counts.pauses++;
    const next = this.#start(this.#driverTask({ takeOver: false, isLast: false }), random, true);
    await Promise.race([next.ready, next.exit]);
    paused.resume();
    // If the next driver is killed before it takes over, the paused driver continues.
    await Promise.race([paused.exit, setTimeout(random.between(100, 500))]);
    paused.kill();
    await Promise.all([paused.exit, next.exit]);
  }

  async #keepContending(random: Randomness): Promise<void> {
    await this.#firstDriverReady.promise;
    while (!this.#isOver)
      await this.#start({ role: 'contender', sessions: this.sessions }, random, true).exit;
  }

  async #keepProducing(random: Randomness): Promise<void> {
    await this.#firstDriverReady.promise;
    while (!this.#isOver) {
      const producer = this.#start({ role: 'producer' }, random, true);
      // The new producer gets the admissions of the previous one. It supersedes or continues the
      // previous records.
      for (const admission of this.history.admissions) producer.send(admission);
      await producer.exit;
    }
  }

  async #keepSubmitting(random: Randomness): Promise<void> {
    await this.#firstDriverReady.promise;
    while (!this.#isOver) {
      const { unanswered } = this.history;
      const task: SubmitterTask = { role: 'submitter', sessions: this.sessions, unanswered };
      await this.#start(task, random, true).exit;
    }
  }

  async #keepReading(random: Randomness): Promise<void> {
    await this.#firstDriverReady.promise;
    while (!this.#isOver) {
      const session = random.oneOf(this.sessions) ?? '';
      await this.#start(this.#readerTask(session, random), random, true).exit;
    }
  }

  /**
   * Runs after all writers are killed. A last driver closes the sessions, so that the readers end.
   */
  async #finish(random: Randomness): Promise<void> {
    const known = this.sessions.filter(
      (session) => this.history.knownSession(session).knownThrough > 0,
    );
    const readers = known.map((session) =>
      this.#start(this.#readerTask(session, random), random, false),
    );
    await Promise.all(readers.map(({ ready, exit }) => Promise.race([ready, exit])));
    const last = this.#driverTask({ takeOver: false, isLast: true });
    await this.#start(last, random, false).exit;
    await Promise.all(readers.map(({ exit }) => exit));
  }

  #driverTask(options: Omit<DriverTask, 'role' | 'sessions' | 'firstTurn'>): DriverTask {
    const sessions = this.sessions.map((session) => this.history.knownSession(session));
    return { role: 'driver', sessions, firstTurn: (this.#started + 1) * 1000, ...options };
  }

  #readerTask(session: string, random: Randomness): ReaderTask {
    const known = this.history.knownSession(session);
    const from = random.oneIn(4) ? 0 : random.below(known.knownThrough + 1);
    return { role: 'reader', ...known, from, isSlow: random.oneIn(2) };
  }

  #start(task: Task, random: Randomness, willBeKilled: boolean): RunningProcess {
    const name = `${task.role} ${this.#options.number}.${++this.#started}`;
    const kill = willBeKilled ? randomKillPlan(random, task.role === 'reader') : undefined;
    const clockStep = randomClockStep(random, task.role === 'contender');
    if (clockStep !== undefined) this.counts.clockSteps++;
    if (task.role === 'driver' && task.takeOver)
      for (const other of this.#processes.running) this.#replaceable.add(other.name);
    if (task.role === 'driver' && task.leaseMs !== undefined) this.#replaceable.add(name);
    const started = this.#processes.start(task, name, random.seed(), { kill, clockStep });
    if (isDriver(started))
      started.ready.then(this.#firstDriverReady.resolve, this.#firstDriverReady.resolve);
    return started;
  }

  #countKill(role: Role, where: string): void {
    this.killed.push({ role, where });
    if (this.killed.length >= this.#options.kills / 2) this.#middle ??= this.#options.onMiddle?.();
    if (this.killed.length < this.#options.kills || this.#isOver) return;
    this.#isOver = true;
    this.#firstDriverReady.resolve(undefined);
    for (const { task, kill, cancelKill } of this.#processes.running) {
      if (task.role === 'reader') cancelKill();
      else kill();
    }
  }

  #checkFenced(process: string, session: string): void {
    if (this.#replaceable.has(process)) return;
    this.history.failures.push(`${process} lost ${session}, but it was alive and nobody took over`);
  }

  async #withTimeout(work: Promise<unknown>): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    const isLate = setTimeout(timeoutMs, true, { signal }).catch(() => false);
    if (await Promise.race([isLate, work.then(() => false)])) {
      const names = this.#processes.running.map(({ task }) => task.role).join(', ');
      this.history.failures.push(`Timeout: these processes did not end: ${names}`);
      for (const { kill } of this.#processes.running) kill();
    }
    controller.abort();
  }
}

const isDriver = ({ task }: RunningProcess): boolean => task.role === 'driver';
