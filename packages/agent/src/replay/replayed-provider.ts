import {
  createProvider,
  type Provider,
  ProviderError,
  type ProviderErrorKind,
  type ResponseEnd,
  type StreamStep,
} from '@millrace/providers';
import type { RecordedAttempt, RecordedEnd } from './recorded-attempt.ts';
import type { Scene } from './scene.ts';

/** The providers that a drive asked, in the order in which it came to them. They say what they said. */
export function replayedProviders(scene: Scene): readonly Provider[] {
  const { records, attempts } = scene.recording;
  const known = new Map<string, Provider>();
  for (const { fact, producer } of records) {
    if (fact?.type !== 'response_started' || producer !== scene.drive.producer) continue;
    const { provider, model } = fact;
    const key = `${provider} ${model}`;
    if (known.has(key)) continue;
    const play = (turn: number, attempt: number) => attempts.get(`${turn}.${attempt}`);
    const stream = (_request: unknown, { item }: { readonly item: Attempt }) =>
      played(scene, play(item.turn, item.attempt), play(item.turn, item.attempt + 1));
    known.set(key, createProvider(provider, model, stream));
  }
  const nobody = createProvider('nobody', 'none', () => played(scene, undefined, undefined));
  return known.size === 0 ? [nobody] : [...known.values()];
}

interface Attempt {
  readonly turn: number;
  readonly attempt: number;
}

async function* played(
  { stage }: Scene,
  attempt: RecordedAttempt | undefined,
  next: RecordedAttempt | undefined,
): AsyncGenerator<StreamStep> {
  for (const delta of attempt?.deltas ?? []) yield { deltas: [delta] };
  // One whose driver died never comes to an end.
  if (attempt?.end === undefined) return void (await new Promise(() => {}));
  await stage.reached(attempt.end.after);
  yield { deltas: [], end: endOf(attempt, attempt.end, next) };
}

function endOf(
  { provider, model }: RecordedAttempt,
  { stop, usage, error, delayMs }: RecordedEnd,
  next: RecordedAttempt | undefined,
): ResponseEnd {
  if (error === undefined) return { stop, usage };
  const isOther = next !== undefined && (next.provider !== provider || next.model !== model);
  const retry = delayMs === undefined || isOther ? 'no' : 'yes';
  const kind = error.code as ProviderErrorKind;
  const details = { provider, retry, retryAfterMs: delayMs } as const;
  return { stop, usage, error: new ProviderError(kind, error.message, details) };
}
