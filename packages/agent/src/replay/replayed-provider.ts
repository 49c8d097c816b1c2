import type { Attempt } from '@millrace/core';
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

/** The providers that an agent asked in a drive, in the order in which it came to them. They say what they said. */
export function replayedProviders(scene: Scene, agent: string): readonly Provider[] {
  const { attempts } = scene.recording;
  const play = (turn: number, attempt: number) => attempts.get(`${turn}.${attempt}`);
  const stream = (_request: unknown, { item }: { readonly item: Attempt }) =>
    played(scene, play(item.turn, item.attempt));
  return askedBy(scene, agent).map(({ provider, model }) =>
    createProvider(provider, model, stream),
  );
}

interface Asked {
  readonly provider: string;
  readonly model: string;
}

/** After a retry that is not put off it is the next one that is asked. */
function askedBy({ recording, drive, root }: Scene, agent: string): readonly Asked[] {
  const asked: Asked[] = [];
  let [by, next, index, isNext] = [root, root, 0, false];
  for (const { fact, producer } of recording.records) {
    if (fact?.type === 'handed_off' && next === by) next = fact.to;
    if (fact?.type === 'turn_finished') by = next;
    if (producer !== drive.producer || by !== agent) continue;
    if (fact?.type === 'retry_scheduled') isNext = isFallback(fact);
    if (fact?.type !== 'response_started') continue;
    if (isNext) index++;
    isNext = false;
    asked[index] ??= { provider: fact.provider, model: fact.model };
  }
  // Where the drive ends before the next one is asked, there was one all the same.
  const nobody = { provider: 'nobody', model: 'none' };
  return asked.length === 0 || isNext ? [...asked, nobody] : asked;
}

function isFallback({ delayMs }: { readonly delayMs: number | undefined }): boolean {
  return delayMs === 0;
}

async function* played(
  { stage }: Scene,
  attempt: RecordedAttempt | undefined,
): AsyncGenerator<StreamStep> {
  for (const delta of attempt?.deltas ?? []) yield { deltas: [delta] };
  // One whose driver died never comes to an end.
  if (attempt?.end === undefined) return void (await new Promise(() => {}));
  await stage.reached(attempt.end.after);
  yield { deltas: [], end: endOf(attempt, attempt.end) };
}

function endOf(
  { provider }: RecordedAttempt,
  { stop, usage, error, delayMs }: RecordedEnd,
): ResponseEnd {
  if (error === undefined) return { stop, usage };
  const retry = delayMs === undefined || isFallback({ delayMs }) ? 'no' : 'yes';
  const kind = error.code as ProviderErrorKind;
  const details = { provider, retry, retryAfterMs: delayMs } as const;
  return { stop, usage, error: new ProviderError(kind, error.message, details) };
}
