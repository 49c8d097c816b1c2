import { MillraceError } from '@millrace/core';

/**
 * One thing that a reply does. Text and bytes are written, each as its own HTTP chunk and its own
 * write to the socket, after the one before went to the kernel and the event loop went round. So a
 * client in the same process that reads them as they come gets each in its own read, as a rule: TCP
 * promises nothing, and a client that is late finds them joined. For a promise there are gates
 * (the next bytes go when the test has seen the last ones) and `inLockstep`, which is made of them.
 */
export type Step = string | Uint8Array | HaltStep | EndStep;

/** A step that sends nothing. */
export type HaltStep =
  | { readonly type: 'wait'; readonly for: ScriptGate }
  /** Sends nothing more and leaves the connection open. */
  | { readonly type: 'stall' }
  /** Closes the connection in the middle: with FIN, so that what was sent arrives first, or with RST. */
  | { readonly type: 'cut'; readonly how?: 'close' | 'reset' };

/** The clean end of the body; a list of steps ends with it by itself. */
export interface EndStep {
  readonly type: 'end';
}

export type Reply = HttpReply | RawReply;

export interface HttpReply {
  /** 200 unless told. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Steps before the status line. Status line and headers are one write, before all others. */
  readonly before?: readonly HaltStep[];
  readonly steps: readonly Step[];
}

/** Goes onto the socket as it is: status line, headers and chunks are the script's. Its end is FIN. */
export interface RawReply {
  readonly raw: readonly Step[];
}

function stepsOf(reply: Reply): readonly Step[] {
  return 'raw' in reply ? reply.raw : [...(reply.before ?? []), ...reply.steps];
}

/** Refuses a reply with steps that could never be taken. */
export function assertReply(reply: Reply): void {
  const steps = stepsOf(reply);
  const last = steps.findIndex((step) => isFinal(step));
  if (last === -1 || last === steps.length - 1) return;
  const advice = 'take them out, or let it wait at a gate';
  throw new ScriptError(
    'bad_script',
    `Step ${last + 1} of the reply is its last, but others follow: ${advice}`,
  );
}

function isFinal(step: Step): boolean {
  if (typeof step === 'string' || step instanceof Uint8Array) return false;
  return step.type !== 'wait';
}

/** Where a reply waits until the test lets it go on. */
export class ScriptGate {
  readonly #reached = Promise.withResolvers<void>();
  readonly #opened = Promise.withResolvers<void>();

  /** Resolves when a reply first stands here: all its steps before have been written. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  /** Lets through who waits and who comes later. */
  open(): void {
    this.#opened.resolve();
  }

  /** For the server: resolves when the gate is open. */
  pass(): Promise<void> {
    this.#reached.resolve();
    return this.#opened.promise;
  }
}

export function newGate(): ScriptGate {
  return new ScriptGate();
}

export type ScriptErrorCode =
  /** The script itself makes no sense. */
  | 'bad_script'
  /** The wire has no word for it. */
  | 'not_on_wire'
  /** Not all that was scripted happened, or more than that did. */
  | 'not_as_scripted'
  | 'server_closed';

/** A mistake in a script, or a test that went another way than its script. */
export class ScriptError extends MillraceError<ScriptErrorCode> {}
