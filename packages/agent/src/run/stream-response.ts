import {
  type Attempt,
  type DraftRecord,
  type ItemId,
  isMillraceError,
  noUsage,
} from '@millrace/core';
import {
  type ModelRequest,
  type Provider,
  ProviderError,
  type ProviderErrorKind,
  type ResponseEnd,
  type StreamStep,
} from '@millrace/providers';
import { abort, abortedSignal, raceAbort } from '../abortable.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { HeldOutput } from '../guardrails/held-output.ts';
import { closeOpenParts, responseFinished } from '../state/drafts.ts';
import { traceOfAttempt } from '../state/run-trace.ts';
import { DeltaValidator, maxCalls } from './provider-deltas.ts';

interface AttemptResult {
  readonly end: ResponseEnd;
  readonly itemId: ItemId;
}

/**
 * Makes one attempt at a request and streams the response to the log. If the response is complete, one write
 * commits its last parts and its end. Otherwise the caller of this function decides how to end the response.
 */
export async function runAttempt(
  context: RunContext,
  options: AttemptOptions,
): Promise<AttemptResult> {
  const { settings, journal } = context;
  const { provider, kind, tools, turn, attempt } = options;
  const itemId = settings.ids.item();
  const at = { turn, attempt };
  const { id, model } = provider;
  await journal.write([
    { ...at, fact: { type: 'item_started', itemId, kind } },
    {
      ...at,
      fact: {
        ...{ type: 'response_started', itemId, provider: id, model },
        ...(tools && { tools }),
        ...(settings.version !== undefined && { version: settings.version }),
      },
    },
  ]);
  const abandoned = new AbortController();
  const streamed = streamResponse(context, options, itemId, abandoned);
  const end = await Promise.race([streamed, abortTimeout(context, abandoned)]);
  if (end !== undefined) return { end, itemId };
  await journal.settled();
  await journal.write(closeOpenParts(journal.state, 'aborted'));
  return { end: failedEnd(provider, 'aborted', 'it did not stop when it was told to'), itemId };
}

/**
 * Resolves after the grace period if the run was aborted. A provider that ignores the abort signal therefore
 * cannot block the run any longer.
 */
function abortTimeout(
  { settings, signal }: RunContext,
  abandoned: AbortController,
): Promise<undefined> {
  return new Promise((resolve) => {
    const onAbort = () => {
      const giveUp = () => {
        abort(abandoned);
        resolve(undefined);
      };
      const cancel = settings.clock.after(settings.retry.toolGraceMs, giveUp);
      abandoned.signal.addEventListener('abort', cancel);
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { signal: abandoned.signal });
  });
}

interface AttemptOptions {
  readonly provider: Provider;
  readonly request: ModelRequest;
  /** The kind of the item to which the response is written. */
  readonly kind: 'assistant' | 'context';
  /** The names of the tools that the request offers, if `prepareStep` chose them. */
  readonly tools?: readonly string[] | undefined;
  readonly turn: number;
  readonly attempt: number;
}

/** Writes the provider's deltas to the log, until the stream ends or the run stops reading it. */
async function streamResponse(
  context: RunContext,
  options: AttemptOptions,
  itemId: ItemId,
  abandoned: AbortController,
): Promise<ResponseEnd | undefined> {
  const { settings, signal, journal, session } = context;
  const { provider, request, turn, attempt } = options;
  const item = { id: itemId, turn, attempt };
  try {
    const trace = traceOfAttempt(journal.loop, item);
    const stream = provider.stream(request, { item, ids: settings.ids, signal, trace, session });
    const steps = stream[Symbol.asyncIterator]();
    try {
      return await writeStream(context, options, { steps, itemId, abandoned });
    } finally {
      // The stream may be impossible to close. It must not block the run in this case.
      const closed = Promise.resolve(steps.return?.());
      const grace = { clock: settings.clock, ms: settings.retry.toolGraceMs };
      await raceAbort(closed, abortedSignal(), grace);
    }
  } finally {
    abort(abandoned);
  }
}

interface ResponseStream {
  readonly steps: AsyncIterator<StreamStep>;
  readonly itemId: ItemId;
  readonly abandoned: AbortController;
}

async function writeStream(
  context: RunContext,
  { provider, turn, attempt, kind }: AttemptOptions,
  { steps, itemId, abandoned }: ResponseStream,
): Promise<ResponseEnd | undefined> {
  const { journal, callIds, settings } = context;
  const at = { turn, attempt };
  const isSummary = kind === 'context';
  // No guardrail checks a summary after it is on the log, so the check comes before. A replay reads a checked summary.
  const isHeld = settings.guardrails.some(({ on, hold, wasHeld }) =>
    isSummary ? on === 'output' && wasHeld === undefined : hold,
  );
  const held = isHeld ? await holdOutput(context, at, { itemId, isSummary }) : undefined;
  const check = new DeltaValidator(itemId, at);
  const broken = (why: string) => closeAsCut(journal, failedEnd(provider, 'protocol_error', why));
  for (let step = await steps.next(); !step.done; step = await steps.next()) {
    if (abandoned.signal.aborted) return undefined;
    const { deltas, end } = step.value;
    if (!deltas.every((delta) => check.accepts(delta))) return broken('its deltas do not fit');
    if (check.hasTooManyCalls) return broken(`it made more than ${maxCalls} calls`);
    const drafts = deltas.map(
      (delta): DraftRecord => ({ ...at, delta: callIds.withUniqueId(delta) }),
    );
    if (end === undefined) {
      if (held !== undefined) {
        held.add(drafts);
        continue;
      }
      const full = drafts.length > 0 ? journal.stream(drafts) : undefined;
      if (full !== undefined) await full;
      continue;
    }
    // After the end of the response, further output of the provider is ignored.
    abort(abandoned);
    const isWhole = end.error === undefined;
    if (!isValidEnd(end) || (isWhole && !check.isClosed)) return broken('its end does not fit');
    if (held !== undefined) return endHeld(context, held, drafts, end, provider);
    const { stop, usage, details } = end;
    const last = isWhole ? [responseFinished(at, itemId, stop, usage, details)] : [];
    await journal.write([...drafts, ...last]);
    return end;
  }
  return broken('its stream ended without an end');
}

/**
 * Creates the object that holds the output back. The code loads on demand, because few agents hold output
 * back.
 */
async function holdOutput(
  context: RunContext,
  at: Attempt,
  item: ConstructorParameters<typeof HeldOutput>[2],
): Promise<HeldOutput> {
  const { HeldOutput } = await import('../guardrails/held-output.ts');
  return new HeldOutput(context, at, item);
}

/**
 * Ends a response that was held back. If the response failed or was aborted, it is not shown, because no
 * guardrail has passed it.
 */
async function endHeld(
  { journal }: RunContext,
  held: HeldOutput,
  last: readonly DraftRecord[],
  end: ResponseEnd,
  provider: Provider,
): Promise<ResponseEnd> {
  if (end.error !== undefined) return end;
  held.add(last);
  const settled = await held.settle(end);
  if (settled === undefined) return failedEnd(provider, 'aborted', 'the run was stopped');
  await journal.write(settled.drafts);
  return settled.end;
}

function isValidEnd({ stop, usage, error }: Partial<ResponseEnd>): boolean {
  const isCounted = Number.isSafeInteger(usage?.input) && Number.isSafeInteger(usage?.output);
  const isOurs = error === undefined || isMillraceError(error);
  return typeof stop?.reason === 'string' && isCounted && isOurs;
}

/** Closes the open parts and marks them as cut off, because the provider will not close them. */
async function closeAsCut(journal: RunContext['journal'], end: ResponseEnd): Promise<ResponseEnd> {
  await journal.settled();
  await journal.write(closeOpenParts(journal.state, 'cut'));
  return end;
}

/** Returns the end of a response whose provider violated its contract or did not stop in time. */
function failedEnd({ id }: Provider, kind: ProviderErrorKind, why: string): ResponseEnd {
  const error = new ProviderError(kind, `Cannot use the answer: ${why}`, { provider: id });
  const reason = kind === 'aborted' ? 'aborted' : 'error';
  return { stop: { reason }, usage: { ...noUsage, estimated: true }, error };
}
