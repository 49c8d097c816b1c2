import { setTimeout } from 'node:timers/promises';
import {
  attemptOf,
  type Batch,
  type DraftRecord,
  Folder,
  type FoldState,
  type OpenPart,
  sessionId,
  toArray,
  toolCallId,
} from '@millrace/core';
import type { Driver, Log } from '@millrace/log';
import {
  type DriverOrder,
  isFencedError,
  type KnownSession,
  type Order,
  say,
  sayHeard,
  sayTried,
} from './messages.ts';
import { Randomness } from './randomness.ts';
import { Scribe } from './record-writer.ts';

type DriverProcess = Order & DriverOrder;

/** Takes over sessions, ends what their last driver left open, and goes on until it dies. */
export async function drive(log: Log, order: DriverProcess): Promise<void> {
  const random = new Randomness(order.seed);
  const driven = order.sessions.map((known) => new Driven(log, order, known, random.seed()));
  const ready = driven.map((one) => one.open());
  await Promise.all(ready);
  say({ type: 'ready' });
  await Promise.all(driven.map((one) => (order.isLast ? one.close() : one.goOn())));
}

class Driven {
  readonly #log: Log;
  readonly #order: DriverProcess;
  readonly #known: KnownSession;
  readonly #random: Randomness;
  readonly #folder: Folder;
  readonly #queued = new Set<string>();
  readonly #over = new AbortController();
  #listening: Promise<void> = Promise.resolve();
  #driver: Driver | undefined;
  #isFenced = false;
  #appends = 0;
  #turn: number;

  constructor(log: Log, order: DriverProcess, known: KnownSession, seed: number) {
    this.#log = log;
    this.#order = order;
    this.#known = known;
    this.#random = new Randomness(seed);
    this.#folder = new Folder(sessionId(known.session));
    this.#turn = order.firstTurn;
  }

  async open(): Promise<void> {
    const { session, atLeast } = this.#known;
    const { name: holder, takeOver } = this.#order;
    say({ type: 'asked', session, from: 0, atLeast });
    if (atLeast > 0 && this.#random.oneIn(2)) await this.#read();
    const from = this.#folder.state.through;
    this.#driver = await this.#log.open(sessionId(session), { holder, takeOver, from });
    await this.#append([]);
    if (this.#isFenced) return;
    say({ type: 'caught_up', session });
    this.#listen();
    await this.#append(recover(this.#folder.state, holder));
  }

  /** What is told to a follower in the same process has to be true as well. */
  #listen(): void {
    const { session } = this.#known;
    const from = this.#random.below(this.#folder.state.through + 1);
    const where = { session, ear: 'follower' };
    say({ type: 'asked', ...where, from, atLeast: from });
    const follow = async () => {
      const { signal } = this.#over;
      for await (const batch of this.#log.follow(sessionId(session), { from, signal }))
        sayHeard(where, batch);
    };
    this.#listening = follow();
  }

  async goOn(): Promise<void> {
    while (!this.#isFenced) await this.#nextTurn();
    this.#over.abort();
    await this.#listening;
  }

  async close(): Promise<void> {
    const { session } = this.#known;
    await this.#append(this.#consumed(this.#turn));
    const rest = await this.#driver?.closeSession();
    if (rest !== undefined) sayHeard({ session }, rest);
    say({ type: 'ended', session });
    this.#over.abort();
    await this.#listening;
  }

  async #read(): Promise<void> {
    const session = sessionId(this.#known.session);
    for (;;) {
      const batch = await this.#log.read(session, { from: this.#folder.state.through });
      if (batch.records.length === 0) return;
      this.#take(batch);
    }
  }

  async #nextTurn(): Promise<void> {
    const random = this.#random;
    const turn = this.#turn++;
    const tag = `${this.#order.name} ${turn}`;
    const scribe = new Scribe({ tag, turn, attempt: 1, random });
    await this.#append([{ turn, attempt: 0, fact: { type: 'turn_started' } }]);
    if (random.oneIn(2)) await this.#admit();
    for (let left = random.between(2, 30); left > 0 && !this.#isFenced; left--) {
      // One of nothing is one as well: it gives what others wrote.
      const isEmpty = random.oneIn(6);
      await this.#append(isEmpty ? [] : [...this.#consumed(turn), ...scribe.write()]);
      if (random.oneIn(3)) await setTimeout(random.below(8));
    }
    const stop = { reason: 'stop' } as const;
    const finished = { turn, attempt: 0, fact: { type: 'turn_finished', stop } } as const;
    await this.#append([...scribe.finish(), finished]);
  }

  /** Lets a producer write in a turn of its own: whatever it leaves open the next driver ends. */
  async #admit(): Promise<void> {
    const turn = this.#turn++;
    const call = { for: 'call', turn, attempt: 1, toolCallId: toolCallId('call') } as const;
    const asked = this.#random.oneIn(3) ? call : ({ for: 'request', turn } as const);
    await this.#append([{ turn, attempt: 0, fact: { type: 'turn_started' } }]);
    if (this.#isFenced || this.#driver === undefined) return;
    try {
      say({ type: 'admitted', admission: await this.#driver.admit(asked) });
    } catch (error) {
      this.#stop(error);
    }
  }

  /** In a turn of this driver's, so that no two drivers write the same. */
  #consumed(turn: number): readonly DraftRecord[] {
    const fact = (key: string) => ({ type: 'command_consumed', key }) as const;
    return [...this.#queued].map((key) => ({ turn, attempt: 0, fact: fact(key) }));
  }

  async #append(drafts: readonly DraftRecord[]): Promise<void> {
    if (this.#isFenced || this.#driver === undefined) return;
    const { session } = this.#known;
    const append = `${this.#order.name}, append ${++this.#appends} to ${session}`;
    sayTried(append, session, drafts, true);
    try {
      const batch = await this.#driver.append(drafts);
      say({ type: 'stored', append, through: batch.through });
      this.#take(batch);
    } catch (error) {
      this.#stop(error);
      say({ type: 'refused', append });
    }
  }

  #stop(error: unknown): void {
    if (!isFencedError(error)) throw error;
    this.#isFenced = true;
  }

  #take(batch: Batch): void {
    sayHeard({ session: this.#known.session }, batch);
    const folded = this.#folder.addBatch(batch);
    if (folded.outcome === 'gap') throw new Error(`A batch does not fold: ${folded.gap.code}`);
    for (const { fact } of batch.records) {
      if (fact?.type === 'command_queued') this.#queued.add(fact.key);
      if (fact?.type === 'command_consumed') this.#queued.delete(fact.key);
    }
  }
}

/** Ends what a process that died left open, as the next driver does: texts stay as partial. */
function recover(state: FoldState, tag: string): readonly DraftRecord[] {
  const parts = state.open.map((part) => closed(part, tag));
  const items = toArray(state.items).filter(({ finished }) => finished === undefined);
  const stop = { reason: 'aborted', cause: 'interrupted', raw: tag } as const;
  return [
    ...parts,
    ...items.map(
      ({ id, turn, attempt }): DraftRecord => ({
        turn,
        attempt,
        fact: { type: 'item_finished', itemId: id, stop },
      }),
    ),
  ];
}

function closed({ id, begin, text }: OpenPart, tag: string): DraftRecord {
  const tried = attemptOf(id);
  if (begin.kind !== 'text')
    return { ...tried, delta: { type: 'retract_part', partId: id, reason: `cut, says ${tag}` } };
  // Says who closed it, so that no two drivers that try it write the same.
  const providerState = { provider: 'chaos', model: tag, data: {} };
  const end = { length: text.length, partial: true, providerState } as const;
  return { ...tried, delta: { type: 'commit_part', partId: id, ...end } };
}
