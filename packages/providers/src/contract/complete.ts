import { type Item, noUsage, type Part, type Refusal, randomIds } from '@millrace/core';
import { ProviderError } from '../errors/provider-error.ts';
import { FoldedAnswer } from './folded-answer.ts';
import type { ModelRequest } from './model-request.ts';
import type { CompleteOptions, Completion, Provider, ResponseEnd } from './provider.ts';

/**
 * Streams one attempt and folds it, as a log would. What no log would take is a broken provider's:
 * it ends as an error of the kind `protocol_error`.
 */
export async function complete(
  provider: Pick<Provider, 'id' | 'stream'>,
  request: ModelRequest,
  options: CompleteOptions = {},
): Promise<Completion> {
  const { signal, trace, onStep } = options;
  const { ids = randomIds((bytes) => crypto.getRandomValues(bytes)) } = options;
  const item = { id: ids.item(), turn: 1, attempt: 1 };
  const answer = new FoldedAnswer(ids, item);
  let end: ResponseEnd | undefined;
  let problem: string | undefined;
  for await (const step of provider.stream(request, { item, ids, signal, trace })) {
    problem = problemWith(answer.add(step.deltas), end);
    end ??= step.end;
    if (problem !== undefined) break;
    await onStep?.(step);
  }
  problem ??= problemAtEnd(end, answer);
  if (end !== undefined && problem === undefined) return completionOf(answer.finish(end), end);
  answer.cut();
  const failed = brokenEnd(provider.id, problem ?? '', end);
  return completionOf(answer.finish(failed), failed);
}

function problemWith(
  refusal: Refusal | undefined,
  end: ResponseEnd | undefined,
): string | undefined {
  if (end !== undefined) return 'a step came after the end';
  return refusal === undefined ? undefined : `a delta does not follow those before it (${refusal})`;
}

function problemAtEnd(end: ResponseEnd | undefined, answer: FoldedAnswer): string | undefined {
  if (end === undefined) return 'there is no end step';
  return answer.hasOpenParts ? 'parts are open at the end' : undefined;
}

function brokenEnd(provider: string, problem: string, end: ResponseEnd | undefined): ResponseEnd {
  const way = 'Mend the provider or its wrapper; steps that were recorded go through moveSteps';
  const message = `Cannot fold the stream of ${provider}: ${problem}. ${way}`;
  const error = new ProviderError('protocol_error', message, { provider, cause: end?.error });
  const usage = end?.usage ?? { ...noUsage, estimated: true };
  return { ...end, stop: { reason: 'error', cause: error.kind }, usage, error };
}

function completionOf(item: Item, end: ResponseEnd): Completion {
  const text = item.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
  const structured = item.parts.find(isStructured);
  return { ...end, item, text, ...(structured && { value: structured.value }) };
}

function isStructured(part: Part): part is Part & { readonly kind: 'structured' } {
  return part.kind === 'structured';
}
