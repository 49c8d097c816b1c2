import { keyForm } from './idempotency-key.ts';

/** What a request may say in a header, as the document tells it. */
const known = {
  'idempotency-key': {
    description: 'A request that is sent again with the same key counts once',
    schema: { type: 'string', pattern: keyForm.source },
  },
  'last-event-id': {
    description: 'The id of the event after which to go on. It counts before `from`',
    schema: { type: 'string', maxLength: 64 },
  },
} as const;

/** A header that means something to a route, besides those that mean the same to all. */
export type RouteHeader = keyof typeof known;

export function headerParameter(name: RouteHeader): Readonly<Record<string, unknown>> {
  return { name, in: 'header', required: false, ...known[name] };
}
