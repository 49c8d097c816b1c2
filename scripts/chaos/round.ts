import { setTimeout } from 'node:timers/promises';
import { Told } from './history.ts';
import type { DriverOrder, ReaderOrder, SubmitterOrder } from './messages.ts';
import { type Actor, Cast, type Role, randomDeath, type Task } from './processes.ts';
import { Randomness } from './randomness.ts';

interface RoundOptions {
  readonly path: string;
  readonly codeCache: string;
  readonly number: number;
  readonly kills: number;
  readonly random: Randomness;
}

/** One that happened. */
export interface CountedDeath {
  readonly role: Role;
  /** The point, or `anywhere`. */
  readonly where: string;
}

const sessionCount = 3;
const readerCount = 2;
/** A guard against hangs, not a measure of speed. */
const patienceMs = 120_000;

/** Some sessions from their beginning to their end, with so many deaths on the way. */
export class Round {
  readonly told: Told = new Told();
  readonly sessions: readonly string[];
  readonly deaths: CountedDeath[] = [];
  readonly #options: RoundOptions;
  readonly #cast: Cast;
  /** When there are sessions to write to and to read. */
  readonly #begun: PromiseWithResolvers<unknown> = Promise.withResolvers();
  #started = 0;
  #isOver = false;

  constructor(options: RoundOptions) {
    const { path, codeCache, number } = options;
    const name = (index: number) => `round ${number}, session ${index + 1}`;
    this.#options = options;
    this.sessions = Array.from({ length: sessionCount }, (_, index) => name(index));
    const onDeath = (role: Role, where: string) => this.#count(role, where);
    const onAdmitted = (admission: unknown) => {
      for (const { task, send } of this.#cast.living) if (task.role === 'producer') send(admission);
    };
    this.#cast = new Cast({ path, codeCache, told: this.told, onDeath, onAdmitted });
  }

  async run(): Promise<void> {
    const { random } = this.#options;
    const drivers = this.#keepDriving(new Randomness(random.seed()));
    const producers = this.#keepProducing(new Randomness(random.seed()));
    const submitters = this.#keepSubmitting(new Randomness(random.seed()));
    const readers = Array.from({ length: readerCount }, () =>
      this.#keepReading(new Randomness(random.seed())),
    );
    await Promise.all([drivers, producers, submitters]);
    await this.#patiently(this.#finish(random));
    await this.#patiently(Promise.all(readers));
  }

  /** Each takes over from one that died, or from one that lives and does not know yet that it is over. */
  async #keepDriving(random: Randomness): Promise<void> {
    while (!this.#isOver) {
      const isDoomed = !random.oneIn(3);
      const takeOver = this.#cast.living.some(isDriver);
      const driver = this.#start(this.#driving({ takeOver, isLast: false }), random, isDoomed);
      const isLongEnough = driver.ready.then(() => setTimeout(random.below(150)));
      await (isDoomed ? driver.exit : Promise.race([driver.exit, isLongEnough]));
    }
    await Promise.all(this.#cast.living.filter(isDriver).map(({ exit }) => exit));
  }

  async #keepProducing(random: Randomness): Promise<void> {
    await this.#begun.promise;
    while (!this.#isOver) {
      const producer = this.#start({ role: 'producer' }, random, true);
      // What its predecessor wrote by these is superseded, or goes on.
      for (const admission of this.told.admissions) producer.send(admission);
      await producer.exit;
    }
  }

  async #keepSubmitting(random: Randomness): Promise<void> {
    await this.#begun.promise;
    while (!this.#isOver) {
      const { unanswered } = this.told;
      const task: SubmitterOrder = { role: 'submitter', sessions: this.sessions, unanswered };
      await this.#start(task, random, true).exit;
    }
  }

  async #keepReading(random: Randomness): Promise<void> {
    await this.#begun.promise;
    while (!this.#isOver) {
      const session = random.oneOf(this.sessions) ?? '';
      await this.#start(this.#reading(session, random), random, true).exit;
    }
  }

  /** All writers are dead: one more driver ends everything, and readers hear the end of it. */
  async #finish(random: Randomness): Promise<void> {
    const known = this.sessions.filter((session) => this.told.known(session).atLeast > 0);
    const readers = known.map((session) =>
      this.#start(this.#reading(session, random), random, false),
    );
    await Promise.all(readers.map(({ ready, exit }) => Promise.race([ready, exit])));
    const last = this.#driving({ takeOver: false, isLast: true });
    await this.#start(last, random, false).exit;
    await Promise.all(readers.map(({ exit }) => exit));
  }

  #driving(how: Pick<DriverOrder, 'takeOver' | 'isLast'>): DriverOrder {
    const sessions = this.sessions.map((session) => this.told.known(session));
    return { role: 'driver', sessions, firstTurn: (this.#started + 1) * 1000, ...how };
  }

  #reading(session: string, random: Randomness): ReaderOrder {
    const known = this.told.known(session);
    const from = random.oneIn(4) ? 0 : random.below(known.atLeast + 1);
    return { role: 'reader', ...known, from, isSlow: random.oneIn(2) };
  }

  #start(task: Task, random: Randomness, isDoomed: boolean): Actor {
    const name = `${task.role} ${this.#options.number}.${++this.#started}`;
    const death = isDoomed ? randomDeath(random, task.role === 'reader') : undefined;
    const actor = this.#cast.start(task, name, random.seed(), death);
    if (isDriver(actor)) actor.ready.then(this.#begun.resolve, this.#begun.resolve);
    return actor;
  }

  #count(role: Role, where: string): void {
    this.deaths.push({ role, where });
    if (this.deaths.length < this.#options.kills || this.#isOver) return;
    this.#isOver = true;
    this.#begun.resolve(undefined);
    for (const { task, kill, spare } of this.#cast.living) {
      if (task.role === 'reader') spare();
      else kill();
    }
  }

  async #patiently(work: Promise<unknown>): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    const isLate = setTimeout(patienceMs, true, { signal }).catch(() => false);
    if (await Promise.race([isLate, work.then(() => false)])) {
      const names = this.#cast.living.map(({ task }) => task.role).join(', ');
      this.told.failures.push(`There is no end: ${names} live on`);
      for (const { kill } of this.#cast.living) kill();
    }
    controller.abort();
  }
}

const isDriver = ({ task }: Actor): boolean => task.role === 'driver';
