import {
  type ErrorInfo,
  type GuardrailFact,
  isMillraceError,
  type JsonValue,
  type Part,
  parseJson,
} from '@millrace/core';
import { halted, raceAbort } from '../abortable.ts';
import { AgentError } from '../contract/agent-error.ts';
import type { Guardrail } from '../contract/guardrail.ts';
import type { RunContext } from '../contract/run-context.ts';

/** The validated verdict of a guardrail. The new content `to` is validated later. */
export type Verdict =
  | { readonly verdict: 'pass'; readonly reason?: string | undefined }
  | { readonly verdict: 'stop'; readonly reason: string }
  | { readonly verdict: 'ask'; readonly reason?: string | undefined }
  | {
      readonly verdict: 'change';
      readonly to: unknown;
      readonly reason?: string | undefined;
      /** True if the options of the caller stay. Only a replay sets it. */
      readonly keepsOptions?: boolean | undefined;
    }
  | FailedVerdict;

/**
 * The verdict of a guardrail that failed. `reason` does not contain the message of the thrown error, because
 * that message may be private.
 */
interface FailedVerdict {
  readonly verdict: 'error';
  readonly reason: string;
  readonly cause: unknown;
}

const maxReasonLength = 1000;

/**
 * Calls a guardrail and waits for its verdict until the timeout. Returns undefined if the run stops. The
 * promise never rejects, because a failure becomes the verdict `error`.
 */
export async function judge(
  guardrail: Guardrail,
  checked: unknown,
  { settings, signal, context, session }: RunContext,
  turn: number,
): Promise<Verdict | undefined> {
  const { timeoutMs } = guardrail;
  const late = new AbortController();
  const cancel = settings.clock.after(timeoutMs, () => late.abort(new Error('It took too long')));
  const stop = AbortSignal.any([signal, late.signal]);
  try {
    const step = { context, session, turn, signal: stop };
    const work = Promise.resolve().then(() => guardrail.check(checked as never, step));
    const returned = await raceAbort(work, stop);
    if (returned !== halted) return readVerdict(returned, guardrail);
    return signal.aborted ? undefined : failed(`it took longer than ${timeoutMs} ms`);
  } catch (error) {
    if (signal.aborted) return undefined;
    return failed('it threw an error. See the cause of the result', error);
  } finally {
    cancel();
  }
}

/**
 * Returns the verdict of a guardrail that failed. The run then ends, because it must not use unchecked
 * content.
 */
export function failed(why: string, cause?: unknown): FailedVerdict {
  return { verdict: 'error', reason: why, cause };
}

/** Validates the return value of a guardrail. The guardrail is user code and may return any value. */
function readVerdict(returned: unknown, { hold, wasHeld }: Guardrail): Verdict {
  if (returned === 'pass') return { verdict: 'pass' };
  const fields = (returned ?? {}) as Readonly<Record<string, unknown>>;
  const { verdict, reason, to, failure } = fields;
  // Recorded failures exist only in a replay.
  if (wasHeld !== undefined && typeof failure === 'string') return failed(failure);
  const why = typeof reason === 'string' ? { reason: shortText(reason) } : {};
  switch (verdict) {
    case 'pass':
      return { verdict, ...why };
    case 'stop':
      return { verdict, reason: why.reason ?? 'It gave no reason' };
    case 'ask':
      if (hold) return failed('it asked about an answer that it holds back. Use stop or change');
      return { verdict, ...why };
    case 'change':
      return to === undefined
        ? failed('it changed the content, but did not say to what')
        : {
            verdict,
            to,
            ...why,
            keepsOptions: wasHeld !== undefined && fields['keepsOptions'] === true,
          };
    default:
      return failed("it returned none of 'pass' and { verdict: 'stop', 'change' or 'ask' }");
  }
}

function shortText(text: string): string {
  return text.slice(0, maxReasonLength).toWellFormed();
}

/** Returns the error of a run that ends because a guardrail failed. */
export function guardrailError(
  { name, on }: Guardrail,
  { reason }: { readonly reason: string },
): ErrorInfo {
  const message = `Guardrail ${name} failed on ${on.replace('_', ' ')}: ${reason}`;
  return { code: 'guardrail_failed', message };
}

const textKinds: ReadonlySet<unknown> = new Set(['text', 'media', 'file', 'structured', 'custom']);

/** Returns the parts of a changed input. Throws if `to` is neither a text nor a list of parts. */
export function inputParts(to: unknown): readonly Part[] {
  if (typeof to === 'string') return [{ kind: 'text', text: to.toWellFormed() }];
  const isParts =
    Array.isArray(to) && to.length > 0 && to.every((part) => textKinds.has(part?.kind));
  if (!isParts) throw badChange('the new input must be a text, or a list of parts');
  return to as readonly Part[];
}

/**
 * Returns the parts of a changed answer. The tool calls stay. If there are calls, the reasoning stays too,
 * because providers require it together with the calls.
 */
export function outputParts(
  to: unknown,
  parts: readonly Part[],
  isStructured: boolean,
): readonly Part[] {
  const hasCalls = parts.some(({ kind }) => kind === 'tool_call');
  const reasoning = hasCalls ? parts.filter(({ kind }) => kind === 'reasoning') : [];
  const calls = parts.filter(({ kind }) => kind === 'tool_call');
  return [...reasoning, changedAnswer(to, isStructured), ...calls];
}

function changedAnswer(to: unknown, isStructured: boolean): Part {
  if (typeof to === 'string' && !isStructured) return { kind: 'text', text: to.toWellFormed() };
  const { value } = (to ?? {}) as { readonly value?: unknown };
  if (value === undefined || !isStructured)
    throw badChange(
      isStructured
        ? 'the agent has an output schema, so the new answer must be { value }'
        : 'the new answer must be a text',
    );
  return { kind: 'structured', value: jsonOf(value), name: 'answer' };
}

/** Returns the value in the form that the log stores. Throws if the value is not JSON. */
export function jsonOf(value: unknown): JsonValue {
  const text: string | undefined = JSON.stringify(value);
  const parsed = text === undefined ? undefined : parseJson(text);
  if (!parsed?.ok) throw badChange('the new content is not JSON');
  return parsed.value;
}

/**
 * Returns the reason why a change cannot be used, for the log. The messages of unknown errors are omitted,
 * because they may be private.
 */
export function changeProblem(error: unknown): string {
  return isMillraceError(error) ? error.message : 'the new content cannot be used';
}

function badChange(why: string): AgentError {
  return new AgentError('bad_option', why);
}

/** Returns those fields of a verdict's fact that do not depend on the item or call. */
export function verdictFact(
  { name, on }: Guardrail,
  { verdict, reason }: Verdict,
): Pick<GuardrailFact, 'type' | 'name' | 'on' | 'verdict' | 'reason'> {
  const why = reason === undefined ? {} : { reason };
  return { type: 'guardrail_applied', name, on, verdict, ...why };
}
