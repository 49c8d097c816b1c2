import { createHash } from 'node:crypto';
import { Randomness } from '../chaos/randomness.ts';

// The scheduler of the simulation. Programs wait only for events: timers, messages, and answers of
// disks. One event runs at a time, together with all promise reactions that it causes. The seed
// determines the next event, so the same seed gives the same run.

interface Event {
  at: number;
  /** Determines the order of events with the same time. */
  readonly order: number;
  readonly machine: Machine;
  /**
   * The number of the machine's start to which the event belongs. After a crash, this event has no
   * effect.
   */
  readonly start: number;
  readonly label: string;
  readonly run: () => void;
  isCanceled: boolean;
}

/** A program with its own clock. It can crash and be paused, and its clock can be changed. */
export class Machine {
  readonly name: string;
  isUp = true;
  /** The number of starts. Events and handles of an earlier start have no effect. */
  start = 1;
  pausedUntil = 0;
  /** The difference between the machine's time of day and the true time, in milliseconds. */
  clockErrorMs = 0;
  /** Called when the machine crashes. */
  readonly onCrash: Set<() => void> = new Set();

  constructor(name: string) {
    this.name = name;
  }
}

/** The real function, saved before the simulation replaces it. */
const { setImmediate: realImmediate } = globalThis;

/** The time of day at the start of each simulation. */
const epochMs = Date.UTC(2026, 0, 1);
/**
 * Maximum number of events, which stops endless loops. A normal run needs a tenth of this number.
 */
const maxEvents = 200_000;

export class World {
  /** The true time in milliseconds since the start. Machines cannot change it. */
  now = 0;
  /** The machine whose event is running. */
  current: Machine | undefined;
  /** The number of events that have run. */
  steps = 0;
  /** Determines delays and the order of events. */
  readonly random: Randomness;
  readonly problems: string[] = [];
  readonly #queue: Event[] = [];
  readonly #hash = createHash('sha256');
  readonly #trace: string[] | undefined;
  #order = 0;

  constructor(seed: number, options: { readonly keepTrace: boolean }) {
    this.random = new Randomness(seed);
    this.#trace = options.keepTrace ? [] : undefined;
  }

  /** Returns the time of day on a machine. */
  timeOf(machine: Machine | undefined): number {
    return Math.floor(epochMs + this.now + (machine?.clockErrorMs ?? 0));
  }

  /**
   * Runs `run` on a machine after a delay, unless the machine crashes first. Returns a function
   * that cancels it.
   */
  schedule(machine: Machine, delayMs: number, label: string, run: () => void): () => void {
    // The random fraction changes the order of events in the same millisecond.
    const at = this.now + Math.max(0, delayMs) + this.random.next() / 10;
    return this.scheduleAt(machine, at, label, run);
  }

  /** Like `schedule`, but with an exact time. */
  scheduleAt(machine: Machine, at: number, label: string, run: () => void): () => void {
    const { start } = machine;
    const event = { at, order: ++this.#order, machine, start, label, run, isCanceled: false };
    this.#push(event);
    return () => {
      event.isCanceled = true;
    };
  }

  /** Resolves on the machine after a delay. If the machine crashes first, it never resolves. */
  sleep(machine: Machine, delayMs: number, label = 'sleep'): Promise<void> {
    return new Promise((resolve) => void this.schedule(machine, delayMs, label, resolve));
  }

  /** Crashes a machine. After that, its timers, messages and handles have no effect. */
  crash(machine: Machine): void {
    if (!machine.isUp) return;
    this.note(`${machine.name} crashes`);
    machine.isUp = false;
    machine.start++;
    machine.pausedUntil = 0;
    const listeners = [...machine.onCrash];
    machine.onCrash.clear();
    for (const listener of listeners) listener();
  }

  /** Adds a line to the trace. */
  note(line: string): void {
    const text = `${this.now.toFixed(3)} ${line}`;
    this.#hash.update(text);
    this.#trace?.push(text);
  }

  /** Reports a violation of a law. */
  fail(problem: string): void {
    this.note(`PROBLEM ${problem}`);
    if (!this.problems.includes(problem)) this.problems.push(problem);
  }

  /** The lines of the trace. Empty if the trace is switched off. */
  get trace(): readonly string[] {
    return this.#trace ?? [];
  }

  /** Returns a hash of the whole run so far. */
  digest(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }

  /**
   * Runs events until `isDone` returns true or the deadline is reached. Returns true if `isDone`
   * returned true.
   */
  async runUntil(isDone: () => boolean, deadlineMs: number): Promise<boolean> {
    while (!isDone()) {
      const next = this.#queue[0];
      if (next === undefined || next.at > deadlineMs) {
        this.now = Math.max(this.now, deadlineMs);
        return isDone();
      }
      if (this.steps >= maxEvents) {
        this.fail(`The run did not end within ${maxEvents} events`);
        return false;
      }
      await this.#step();
    }
    return true;
  }

  async #step(): Promise<void> {
    const event = this.#pop();
    const { machine } = event;
    if (event.isCanceled || event.start !== machine.start) return;
    this.now = Math.max(this.now, event.at);
    if (machine.pausedUntil > this.now) {
      event.at = machine.pausedUntil;
      return this.#push(event);
    }
    this.steps++;
    this.note(`${machine.name} ${event.label}`);
    this.current = machine;
    try {
      event.run();
    } catch (error) {
      this.fail(`${machine.name}: ${event.label} threw ${String(error)}`);
    }
    // Waits for a macrotask. All promise reactions run before it.
    await new Promise<void>((resolve) => void realImmediate(resolve));
    this.current = undefined;
  }

  #push(event: Event): void {
    const queue = this.#queue;
    let at = queue.length;
    queue.push(event);
    for (;;) {
      const parent = (at - 1) >> 1;
      const above = queue[parent];
      if (at === 0 || above === undefined || !isBefore(event, above)) break;
      queue[at] = above;
      at = parent;
    }
    queue[at] = event;
  }

  #pop(): Event {
    const queue = this.#queue;
    const [first] = queue;
    const last = queue.pop();
    if (first === undefined || last === undefined) throw new Error('The queue is empty');
    if (queue.length === 0) return first;
    let at = 0;
    for (;;) {
      const [left, right] = [queue[2 * at + 1], queue[2 * at + 2]];
      if (left === undefined) break;
      const isRight = right !== undefined && isBefore(right, left);
      const least = isRight ? right : left;
      if (!isBefore(least, last)) break;
      queue[at] = least;
      at = 2 * at + (isRight ? 2 : 1);
    }
    queue[at] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at === b.at ? a.order < b.order : a.at < b.at;
}
