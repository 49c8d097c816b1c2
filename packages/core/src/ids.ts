import { MillraceError } from './errors.ts';

declare const brand: unique symbol;
type Id<Name extends string> = string & { readonly [brand]: Name };

export type SessionId = Id<'session'>;
export type RunId = Id<'run'>;
export type ItemId = Id<'item'>;
/** `turn.attempt.name`: it says which try at which request it belongs to, and is never used again. */
export type PartId = Id<'part'>;
/** Mostly the provider's own. */
export type ToolCallId = Id<'tool call'>;
export type ExecutionId = Id<'execution'>;

const maxIdLength = 1024;
// Control characters break logs and SSE frames; lone surrogates do not survive UTF-8.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to refuse
const unprintable = /[\u0000-\u001f\u007f]/;
const partIdForm = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\../s;

export function isId(text: string): boolean {
  return (
    text.length > 0 && text.length <= maxIdLength && text.isWellFormed() && !unprintable.test(text)
  );
}

export function isPartId(text: string): boolean {
  if (!isId(text)) return false;
  const [, turn, attempt] = partIdForm.exec(text) ?? [];
  return Number.isSafeInteger(Number(turn)) && Number.isSafeInteger(Number(attempt));
}

function checked<T extends string>(what: string, text: string, fits: boolean): T {
  if (fits) return text as T;
  throw new MillraceError(
    'bad_id',
    `Cannot use a text of ${text.length} characters as ${what}: an id has 1 to ${maxIdLength} printable characters` +
      (what === 'a part id' ? ' of the form turn.attempt.name' : ''),
  );
}

export const sessionId = (text: string): SessionId => checked('a session id', text, isId(text));
export const runId = (text: string): RunId => checked('a run id', text, isId(text));
export const itemId = (text: string): ItemId => checked('an item id', text, isId(text));
export const toolCallId = (text: string): ToolCallId => checked('a tool call id', text, isId(text));
export const executionId = (text: string): ExecutionId =>
  checked('an execution id', text, isId(text));
export const partId = (turn: number, attempt: number, name: string): PartId => {
  const text = `${turn}.${attempt}.${name}`;
  // Written out, 1.5 and 1 would read as turn 1 and attempt 5.
  const areWhole = Number.isInteger(turn) && Number.isInteger(attempt);
  return checked('a part id', text, areWhole && isPartId(text));
};

/** One try at a turn's request. */
export interface Attempt {
  readonly turn: number;
  readonly attempt: number;
}

export function isSameAttempt(a: Attempt, b: Attempt): boolean {
  return a.turn === b.turn && a.attempt === b.attempt;
}

/** The turn and attempt that a part id names. */
export function attemptOf(id: PartId): Attempt {
  const [turn, attempt] = id.split('.', 2).map(Number);
  return { turn: turn ?? 0, attempt: attempt ?? 0 };
}

/** Makes new ids. Injected wherever ids are made, so that a test or a replay gets the same ones. */
export interface Ids {
  session(): SessionId;
  run(): RunId;
  item(): ItemId;
  part(turn: number, attempt: number): PartId;
  toolCall(): ToolCallId;
  /** Of a call, where it is one's. */
  execution(call?: ToolCallId): ExecutionId;
}

function createIds(make: (kind: string, digits: number) => string): Ids {
  return {
    // Sessions and runs meet those of other machines; the rest only has to be unique in its session.
    session: () => sessionId(make('session', 24)),
    run: () => runId(make('run', 24)),
    item: () => itemId(make('item', 16)),
    part: (turn, attempt) => partId(turn, attempt, make('p', 10)),
    toolCall: () => toolCallId(make('call', 16)),
    execution: () => executionId(make('execution', 16)),
  };
}

/** `item1`, `item2`, …: the same sequence each time, for tests, replays and examples. */
export function countingIds(): Ids {
  const counts = new Map<string, number>();
  return createIds((kind) => {
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    return `${kind}${count}`;
  });
}

const digits32 = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * Ids from random bytes, five bits a digit: `randomIds((bytes) => crypto.getRandomValues(bytes))`.
 * The source is the caller's, because core has no randomness of its own.
 */
export function randomIds(fill: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array): Ids {
  return createIds((_kind, digits) =>
    Array.from(fill(new Uint8Array(digits)), (byte) => digits32.charAt(byte & 31)).join(''),
  );
}
