import { Redactor, redactStart } from '@millrace/providers';
import type { RemoteEvent, RemotePeer } from './contract.ts';

/** Maximum length of an error text that is read. Keys are removed before the text is cut to its final length. */
export const maxProblemLength = 20_000;

/**
 * Yields the events of a remote agent without the secrets of the connection. Only texts, and the results of
 * calls, stay as the agent sent them. An id always becomes the same other id, so a call keeps its
 * result.
 */
export async function* redactedEvents(
  events: AsyncIterable<RemoteEvent>,
  { secrets = [] }: RemotePeer,
): AsyncGenerator<RemoteEvent> {
  const redactor = new Redactor(secrets);
  const problemWithout = (text: string) => redactStart(text, secrets, maxProblemLength);
  try {
    for await (const event of events) {
      if (event.type !== 'end') yield redacted(event, redactor);
      else {
        const { stop, problem } = event;
        const clean = problem === undefined ? {} : { problem: problemWithout(problem) };
        yield { ...event, stop: redactor.json(stop), ...clean };
      }
    }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    yield { type: 'end', stop: { reason: 'error' }, problem: problemWithout(text) };
  }
}

type InnerEvent = Exclude<RemoteEvent, { readonly type: 'end' }>;

function redacted(event: InnerEvent, redactor: Redactor): RemoteEvent {
  switch (event.type) {
    case 'text':
    case 'reasoning': {
      const { message, state } = event;
      return { ...event, ...redactor.ids({ message, state }) };
    }
    case 'file':
      return { ...event, part: redactor.part(event.part) };
    case 'call': {
      const { id, name, input } = event;
      return { ...event, ...redactor.ids({ id, name }), input: redactor.json(input) };
    }
    case 'progress':
      return { ...event, id: redactor.id(event.id) };
    case 'result': {
      const attachments = event.attachments?.map((part) => redactor.part(part));
      return { ...event, id: redactor.id(event.id), attachments };
    }
    case 'question': {
      const { call, form } = event;
      return { ...event, call: redactor.ids(call), form: redactor.json(form) };
    }
    case 'memory':
      return { ...event, value: redactor.ids(event.value) };
  }
}
