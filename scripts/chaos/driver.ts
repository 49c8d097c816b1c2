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
  type Assignment,
  type DriverTask,
  isFencedError,
  isHeldError,
  type KnownSession,
  report,
  reportAttempt,
  reportReceived,
} from './messages.ts';
import { Randomness } from './randomness.ts';
import { RandomRecordWriter } from './record-writer.ts';

type DriverProcess = Assignment & DriverTask;

/**
 * Takes over sessions and closes the parts that their last driver left open. Then it runs turns
 * until this process is killed.
 */
export async function drive(log: Log, assignment: DriverProcess): Promise<void> {
  const random = new Randomness(assignment.seed);
  const driven = assignment.sessions.map(
    (known) => new DrivenSession(log, assignment, known, random.seed()),
  );
  const ready = driven.map((one) => one.open());
  await Promise.all(ready);
  report({ type: 'ready' });
  if (assignment.pauseAfterMs !== undefined) void pauseAfter(assignment.pauseAfterMs);
  await Promise.all(driven.map((one) => (assignment.isLast ? one.close() : one.runTurns())));
}

async function pauseAfter(ms: number): Promise<void> {
  await setTimeout(ms);
  report({ type: 'paused' });
  process.kill(process.pid, 'SIGSTOP');
}

class DrivenSession {
  readonly #log: Log;
  readonly #assignment: DriverProcess;
  readonly #known: KnownSession;
  readonly #random: Randomness;
  readonly #folder: Folder;
  readonly #queued = new Set<string>();
  readonly #stopFollowing = new AbortController();
  #following: Promise<void> = Promise.resolve();
  #driver: Driver | undefined;
  #isFenced = false;
  #appends = 0;
  #turn: number;

  constructor(log: Log, assignment: DriverProcess, known: KnownSession, seed: number) {
    this.#log = log;
    this.#assignment = assignment;
    this.#known = known;
    this.#random = new Randomness(seed);
    this.#folder = new Folder(sessionId(known.session));
    this.#turn = assignment.firstTurn;
  }

  async open(): Promise<void> {
    const { session, knownThrough } = this.#known;
    const { name: holder } = this.#assignment;
    report({ type: 'subscribed', session, from: 0, knownThrough });
    if (knownThrough > 0 && this.#random.oneIn(2)) await this.#read();
    this.#driver = await this.#openWhenFree();
    await this.#append([]);
    if (this.#isFenced) return;
    report({ type: 'caught_up', session });
    this.#follow();
    await this.#append(closeOpenParts(this.#folder.state, holder));
  }

  /**
   * Follows the session in the same process and reports the records that it receives. The checks
   * compare them with the log.
   */
  #follow(): void {
    const { session } = this.#known;
    const from = this.#random.below(this.#folder.state.through + 1);
    const subscription = { session, subscriber: 'follower' };
    report({ type: 'subscribed', ...subscription, from, knownThrough: from });
    const follow = async () => {
      const { signal } = this.#stopFollowing;
      for await (const batch of this.#log.follow(sessionId(session), { from, signal }))
        reportReceived(subscription, batch);
    };
    this.#following = follow();
  }

  /**
   * Opens the session. If a contender holds it, this method waits a moment. If a paused driver
   * holds it, this method waits until the lease expires.
   */
  async #openWhenFree(): Promise<Driver> {
    const { name: holder, takeOver, leaseMs } = this.#assignment;
    const from = this.#folder.state.through;
    for (;;) {
      try {
        return await this.#log.open(sessionId(this.#known.session), {
          ...{ holder, takeOver, from },
          ...(leaseMs !== undefined && { leaseMs }),
        });
      } catch (error) {
        if (!isHeldError(error)) throw error;
        await setTimeout(20);
      }
    }
  }

  async runTurns(): Promise<void> {
    while (!this.#isFenced) await this.#nextTurn();
    this.#stopFollowing.abort();
    await this.#following;
  }

  async close(): Promise<void> {
    const { session } = this.#known;
    await this.#append(this.#consumed(this.#turn));
    const rest = await this.#driver?.closeSession();
    if (rest !== undefined) reportReceived({ session }, rest);
    report({ type: 'ended', session });
    this.#stopFollowing.abort();
    await this.#following;
  }

  async #read(): Promise<void> {
    const session = sessionId(this.#known.session);
    for (;;) {
      const batch = await this.#log.read(session, { from: this.#folder.state.through });
      if (batch.records.length === 0) return;
      this.#receive(batch);
    }
  }

  async #nextTurn(): Promise<void> {
    const random = this.#random;
    const turn = this.#turn++;
    const tag = `${this.#assignment.name} ${turn}`;
    const writer = new RandomRecordWriter({ tag, turn, attempt: 1, random });
    await this.#append([{ turn, attempt: 0, fact: { type: 'turn_started' } }]);
    if (random.oneIn(2)) await this.#admit();
    for (let left = random.between(2, 30); left > 0 && !this.#isFenced; left--) {
      // An empty append is valid. It returns the records that other processes wrote.
      const isEmpty = random.oneIn(6);
      await this.#append(isEmpty ? [] : [...this.#consumed(turn), ...writer.write()]);
      if (random.oneIn(3)) await setTimeout(random.below(8));
    }
    const stop = { reason: 'stop' } as const;
    const finished = { turn, attempt: 0, fact: { type: 'turn_finished', stop } } as const;
    await this.#append([...writer.finish(), finished]);
  }

  /**
   * Admits a producer in a separate turn. If the producer leaves parts open, the next driver closes
   * them.
   */
  async #admit(): Promise<void> {
    const turn = this.#turn++;
    const call = { for: 'call', turn, attempt: 1, toolCallId: toolCallId('call') } as const;
    const request = this.#random.oneIn(3) ? call : ({ for: 'request', turn } as const);
    await this.#append([{ turn, attempt: 0, fact: { type: 'turn_started' } }]);
    if (this.#isFenced || this.#driver === undefined) return;
    try {
      report({ type: 'admitted', admission: await this.#driver.admit(request) });
    } catch (error) {
      this.#handleFenced(error);
    }
  }

  /**
   * Returns records that mark the queued commands as consumed. Their turn belongs to this driver,
   * so two drivers never write the same record.
   */
  #consumed(turn: number): readonly DraftRecord[] {
    const fact = (key: string) => ({ type: 'command_consumed', key }) as const;
    return [...this.#queued].map((key) => ({ turn, attempt: 0, fact: fact(key) }));
  }

  async #append(drafts: readonly DraftRecord[]): Promise<void> {
    if (this.#isFenced || this.#driver === undefined) return;
    const { session } = this.#known;
    const append = `${this.#assignment.name}, append ${++this.#appends} to ${session}`;
    reportAttempt(append, session, drafts, true);
    try {
      const batch = await this.#driver.append(drafts);
      report({ type: 'stored', append, through: batch.through });
      this.#receive(batch);
    } catch (error) {
      this.#handleFenced(error);
      report({ type: 'refused', append });
    }
  }

  #handleFenced(error: unknown): void {
    if (!isFencedError(error)) throw error;
    this.#isFenced = true;
    report({ type: 'fenced', session: this.#known.session });
  }

  #receive(batch: Batch): void {
    reportReceived({ session: this.#known.session }, batch);
    const folded = this.#folder.addBatch(batch);
    if (folded.outcome === 'gap') throw new Error(`A batch does not fold: ${folded.gap.code}`);
    for (const { fact } of batch.records) {
      if (fact?.type === 'command_queued') this.#queued.add(fact.key);
      if (fact?.type === 'command_consumed') this.#queued.delete(fact.key);
    }
  }
}

/**
 * Returns records that close the parts and items that a killed process left open. Their texts are
 * kept and marked as partial.
 */
function closeOpenParts(state: FoldState, tag: string): readonly DraftRecord[] {
  const parts = state.open.map((part) => closePart(part, tag));
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

function closePart({ id, begin, text }: OpenPart, tag: string): DraftRecord {
  const position = attemptOf(id);
  if (begin.kind !== 'text')
    return {
      ...position,
      delta: { type: 'retract_part', partId: id, reason: `interrupted, closed by ${tag}` },
    };
  // The tag distinguishes this record from records of other drivers that close the same part.
  const providerState = { provider: 'chaos', model: tag, data: {} };
  const end = { length: text.length, partial: true, providerState } as const;
  return { ...position, delta: { type: 'commit_part', partId: id, ...end } };
}
