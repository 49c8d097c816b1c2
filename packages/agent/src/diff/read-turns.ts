import { type Fact, type ItemId, type LogRecord, type SessionId, sessionId } from '@millrace/core';
import { LogError } from '@millrace/log';
import { nextRound } from '../replay/playback.ts';
import type { RecordPlace } from './content.ts';
import type { DiffSource } from './session-diff.ts';
import { type OpenItem, TurnHistory } from './turn-history.ts';

/** A session that is read turn by turn. */
export interface SessionTurns {
  readonly session: SessionId;
  /** The offset of the last record that is read. */
  readonly through: number;
  readonly turns: AsyncGenerator<TurnHistory>;
  /** Returns the number of the last turn that was read. */
  readonly lastTurn: () => number;
  /** The items that were redacted, by the records that were read so far. */
  readonly redacted: ReadonlySet<ItemId>;
}

/** A place between two runs. */
export interface TurnStart {
  /** The offset of the last record before the place. */
  readonly after: number;
  /** The number of the last turn before the place. */
  readonly turn: number;
}

/**
 * Opens a session to read it page by page, from its start or from a place between two runs. Only the records
 * of one turn are in memory. Records that arrive during the read are not included.
 */
export async function openTurns(
  { log, session }: DiffSource,
  start: TurnStart = { after: 0, turn: 0 },
): Promise<SessionTurns> {
  const id = sessionId(session);
  const info = await log.info(id);
  if (info === undefined) {
    const message = `Cannot compare session ${session}: it does not exist`;
    throw new LogError('no_session', message, { session });
  }
  const { through, incarnation } = info;
  const reader = new TurnReader(start.turn);
  async function* turns(): AsyncGenerator<TurnHistory> {
    for (let from = start.after; from < through; ) {
      const page = await log.read(id, { from, incarnation });
      for (const record of page.records)
        if (record.offset <= through) {
          const done = reader.add(record);
          if (done !== undefined) yield done;
        }
      if (page.through <= from) break;
      from = page.through;
      // Other work of the process runs between two pages.
      await nextRound();
    }
    const last = reader.end();
    if (last !== undefined) yield last;
  }
  return {
    session: id,
    through,
    turns: turns(),
    lastTurn: () => reader.started,
    redacted: reader.redacted,
  };
}

/** The facts that do not begin the input of the next turn. */
const endsTurn: ReadonlySet<Fact['type']> = new Set<Fact['type']>([
  ...(['run_finished', 'command_queued', 'item_redacted', 'snapshot'] as const),
]);

type Queued = Extract<Fact, { type: 'command_queued' }>['command'];

/**
 * Divides the records of a session into turns. The input before a turn belongs to the turn. A command belongs
 * to the turn in which it takes effect, because the time at which it arrives is random.
 */
class TurnReader {
  readonly redacted = new Set<ItemId>();
  #turn: TurnHistory | undefined;
  /** The last turn that started. */
  started: number;
  #isOpen = false;
  readonly #items = new Map<ItemId, OpenItem>();
  readonly #commands = new Map<string, RecordPlace & { readonly command: Queued }>();
  readonly #messages = new Map<string, RecordPlace>();

  constructor(started: number) {
    this.started = started;
  }

  /** Adds a record. Returns the turn before it if the record starts another turn. */
  add(record: LogRecord): TurnHistory | undefined {
    const { fact, turn, offset } = record;
    const number = this.#numberOf(turn, fact);
    const done = this.#turn !== undefined && number > this.#turn.turn ? this.#turn : undefined;
    if (this.#turn === undefined || done !== undefined)
      this.#turn = new TurnHistory(number, offset - 1);
    this.#track(record);
    this.#turn.add(record, (id) => this.#items.get(id));
    if (fact?.type === 'command_consumed') this.#consume(this.#turn, fact);
    if (fact?.type === 'item_finished' || fact?.type === 'response_finished')
      this.#items.delete(fact.itemId);
    return done;
  }

  /** Returns the last turn. Its commands include those that no driver has read. */
  end(): TurnHistory | undefined {
    for (const { command, ...place } of this.#commands.values())
      this.#turn?.addUnread(command, place);
    return this.#turn;
  }

  #numberOf(turn: number, fact: Fact | undefined): number {
    if (turn > this.started) {
      this.started = turn;
      this.#isOpen = true;
    }
    if (this.#isOpen) return this.started;
    if (fact !== undefined && endsTurn.has(fact.type))
      return this.#turn?.turn ?? Math.max(this.started, 1);
    return this.started + 1;
  }

  #track({ fact, turn, offset }: LogRecord): void {
    switch (fact?.type) {
      case 'turn_finished':
        if (turn === this.started) this.#isOpen = false;
        return;
      case 'item_started': {
        const command = this.#messages.get(fact.itemId);
        this.#messages.delete(fact.itemId);
        this.#items.set(fact.itemId, { kind: fact.kind, command });
        return;
      }
      case 'item_redacted':
        this.redacted.add(fact.itemId);
        return;
      case 'command_queued': {
        const place = { offset, type: fact.type };
        this.#commands.set(fact.key, { ...place, command: fact.command });
        const { items } = fact.command;
        for (const item of Array.isArray(items) ? items : [])
          this.#messages.set(String((item as { readonly id?: unknown } | null)?.id), place);
        return;
      }
      default:
    }
  }

  #consume(turn: TurnHistory, { key, error }: Extract<Fact, { type: 'command_consumed' }>): void {
    const queued = this.#commands.get(key);
    this.#commands.delete(key);
    if (queued === undefined) return;
    const { command, ...place } = queued;
    turn.addCommand(command, place, error?.code);
  }
}
