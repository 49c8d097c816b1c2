import { MillraceError } from './errors.ts';

declare const brand: unique symbol;
type Id<Name extends string> = string & { readonly [brand]: Name };

/** The id of a session. */
export type SessionId = Id<'session'>;
/** The id of a run. */
export type RunId = Id<'run'>;
/** The id of an item. */
export type ItemId = Id<'item'>;
/**
 * The id of a part. It has the form `turn.attempt.name`, so it contains the turn and the attempt of the part.
 * It is never reused.
 */
export type PartId = Id<'part'>;
/** The id of a tool call. The provider usually assigns it. */
export type ToolCallId = Id<'tool call'>;
/** The id of one execution of a tool call. */
export type ExecutionId = Id<'execution'>;

const maxIdLength = 1024;
// Control characters break logs and SSE frames. Lone surrogates do not survive UTF-8.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to refuse
const unprintable = /[\u0000-\u001f\u007f]/;
const partIdForm = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\../s;

/**
 * Returns whether a text is an id: 1 to 1024 UTF-16 units, without control characters and lone surrogates.
 */
export function isId(text: string): boolean {
  return (
    text.length > 0 && text.length <= maxIdLength && text.isWellFormed() && !unprintable.test(text)
  );
}

/** Returns whether a text is a part id of the form `turn.attempt.name`. */
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

/** Converts a text to a session id. Throws if it is not an id. */
export const sessionId = (text: string): SessionId => checked('a session id', text, isId(text));
/** Converts a text to a run id. Throws if it is not an id. */
export const runId = (text: string): RunId => checked('a run id', text, isId(text));
/** Converts a text to an item id. Throws if it is not an id. */
export const itemId = (text: string): ItemId => checked('an item id', text, isId(text));
/** Converts a text to a tool call id. Throws if it is not an id. */
export const toolCallId = (text: string): ToolCallId => checked('a tool call id', text, isId(text));
/** Converts a text to an execution id. Throws if it is not an id. */
export const executionId = (text: string): ExecutionId =>
  checked('an execution id', text, isId(text));
/** Creates the part id `turn.attempt.name`. Throws if the result is not an id. */
export const partId = (turn: number, attempt: number, name: string): PartId => {
  const text = `${turn}.${attempt}.${name}`;
  // Without this check, turn 1.5 and attempt 1 would be read as turn 1 and attempt 5.
  const areWhole = Number.isInteger(turn) && Number.isInteger(attempt);
  return checked('a part id', text, areWhole && isPartId(text));
};

/** One attempt at the request of a turn. */
export interface Attempt {
  readonly turn: number;
  readonly attempt: number;
}

export function isSameAttempt(a: Attempt, b: Attempt): boolean {
  return a.turn === b.turn && a.attempt === b.attempt;
}

/** Returns the turn and attempt of a part id. */
export function attemptOf(id: PartId): Attempt {
  const [turn, attempt] = id.split('.', 2).map(Number);
  return { turn: turn ?? 0, attempt: attempt ?? 0 };
}

/**
 * Creates new ids. The caller passes an implementation, so a test or a replay can create the same ids again.
 */
export interface Ids {
  /** Creates the id of a session. */
  session(): SessionId;
  /** Creates the id of a run. */
  run(): RunId;
  /** Creates the id of an item. */
  item(): ItemId;
  /** Creates the id of a part. The id contains the turn and the attempt. */
  part(turn: number, attempt: number): PartId;
  /** Creates an id for a tool call that the provider sent without an id. */
  toolCall(): ToolCallId;
  /** Creates the id of an execution. `call` is the tool call that it belongs to, if any. */
  execution(call?: ToolCallId): ExecutionId;
}

function createIds(make: (kind: string, digits: number) => string): Ids {
  return {
    // Ids of sessions and runs must be unique across machines. Other ids must be unique only in
    // their session.
    session: () => sessionId(make('session', 24)),
    run: () => runId(make('run', 24)),
    item: () => itemId(make('item', 16)),
    part: (turn, attempt) => partId(turn, attempt, make('p', 10)),
    toolCall: () => toolCallId(make('call', 16)),
    execution: () => executionId(make('execution', 16)),
  };
}

/**
 * Creates ids such as `item1`, `item2`, … in the same sequence each time. Use it for tests, replays
 * and examples.
 */
export function countingIds(): Ids {
  const counts = new Map<string, number>();
  return createIds((kind) => {
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    return `${kind}${count}`;
  });
}

/**
 * The type of `new Uint8Array(length)`: bytes with their own `ArrayBuffer`. Since TypeScript 5.7 this type is
 * `Uint8Array<ArrayBuffer>`. Older versions have no such type argument.
 */
export type NewBytes = ReturnType<Uint8ArrayConstructor['of']>;

const digits32 = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * Creates ids from random bytes, with five bits per character. The caller provides the source of
 * randomness.
 *
 * @example randomIds((bytes) => crypto.getRandomValues(bytes));
 */
export function randomIds(fill: (bytes: NewBytes) => Uint8Array): Ids {
  return createIds((_kind, digits) =>
    Array.from(fill(new Uint8Array(digits)), (byte) => digits32.charAt(byte & 31)).join(''),
  );
}
