import { MillraceError } from '@millrace/core';

/**
 * One step of a reply. Each text or byte array is one HTTP chunk and one write to the socket. The
 * next step is written after the write reached the kernel and the event loop completed a turn.
 *
 * A client in the same process that reads continuously usually gets each step in a separate read. TCP does
 * not guarantee this, and a slow client may receive several steps in one read. For a guarantee, use gates,
 * which send the next bytes only after the test has received the previous ones. `inLockstep` uses gates.
 */
export type Step = string | Uint8Array | HaltStep | EndStep;

/** A step that sends no data. */
export type HaltStep =
  /** Waits until the gate is open. */
  | { readonly type: 'wait'; readonly for: ScriptGate }
  /** Sends no further data and keeps the connection open. */
  | { readonly type: 'stall' }
  /**
   * Closes the connection early. `close` sends a FIN, so all data that was sent still arrives. `reset` sends
   * an RST.
   */
  | { readonly type: 'cut'; readonly how?: 'close' | 'reset' };

/** The normal end of the body. If a list of steps has no end, it is added automatically. */
export interface EndStep {
  readonly type: 'end';
}

/** A reply of the scripted server. */
export type Reply = HttpReply | RawReply;

/** A reply that Node encodes as HTTP. */
export interface HttpReply {
  /** The HTTP status. Default: 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The steps that run before the status line. The status line and the headers are one write. Default: none.
   */
  readonly before?: readonly HaltStep[];
  readonly steps: readonly Step[];
}

/**
 * A reply that is written to the socket unchanged. The script must contain the status line, headers and
 * chunks. After the last step, the connection is closed with FIN, except if a step stalls or resets it.
 */
export interface RawReply {
  readonly raw: readonly Step[];
}

function stepsOf(reply: Reply): readonly Step[] {
  return 'raw' in reply ? reply.raw : [...(reply.before ?? []), ...reply.steps];
}

/** Throws if the reply has steps that can never run. */
export function assertReply(reply: Reply): void {
  const steps = stepsOf(reply);
  const last = steps.findIndex((step) => isFinal(step));
  if (last === -1 || last === steps.length - 1) return;
  const advice = 'remove them, or wait at a gate instead';
  throw new ScriptedServerError(
    'bad_script',
    `Step ${last + 1} ends the reply, but others follow: ${advice}`,
  );
}

function isFinal(step: Step): boolean {
  if (typeof step === 'string' || step instanceof Uint8Array) return false;
  return step.type !== 'wait';
}

/** A point at which a reply waits until the test opens the gate. */
export class ScriptGate {
  readonly #reached = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();

  /** Resolves when a reply first reaches the gate. At that time, all steps before the gate are written. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  /** Opens the gate for all replies that wait at it, and for later replies. */
  open(): void {
    this.#opened.resolve();
  }

  /** The server calls this method. Resolves when the gate is open. */
  pass(): Promise<void> {
    this.#reached.resolve();
    return this.#opened.promise;
  }
}

/** Creates a gate for a `wait` step. */
export function newGate(): ScriptGate {
  return new ScriptGate();
}

/** Codes of a `ScriptedServerError`. */
export type ScriptedServerErrorCode =
  /** The script is invalid. */
  | 'bad_script'
  /** The wire format cannot express the value. */
  | 'not_on_wire'
  /** A scripted reply was not used, or a request had no reply. */
  | 'not_as_scripted'
  /** The scripted server is closed. */
  | 'server_closed';

/** Thrown for an error in a script, or if the requests of a test do not match its script. */
export class ScriptedServerError extends MillraceError<ScriptedServerErrorCode> {}
