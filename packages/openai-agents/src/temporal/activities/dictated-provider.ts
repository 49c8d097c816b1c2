import {
  createProvider,
  type ModelRequest,
  type Provider,
  type ResponseEnd,
} from '@millrace/providers';

export interface Dictated {
  readonly provider: Provider;
  /** How the last answer ended, where one did. */
  end(): ResponseEnd | undefined;
}

/** A provider that is asked this, whatever the loop would ask: the SDK keeps its own history. */
export function dictatedProvider(asked: Provider, request: ModelRequest): Dictated {
  let end: ResponseEnd | undefined;
  const provider = createProvider(asked.id, asked.model, async function* (_own, context) {
    for await (const step of asked.stream(request, context)) {
      end = step.end;
      yield step;
    }
  });
  return { provider, end: () => end };
}
