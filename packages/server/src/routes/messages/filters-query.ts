import { z } from 'zod';
import { type MessageFilter, messageFilterSchema } from '../../contract/request-bodies.ts';

const filters = z.union([messageFilterSchema, z.array(messageFilterSchema).max(32)]);

/** One filter or several, as JSON. */
export const filtersQuery = { filters: filters.optional() };

export function filtersOf(query: {
  readonly filters?: z.output<typeof filters> | undefined;
}): readonly MessageFilter[] {
  return query.filters === undefined ? [] : [query.filters].flat();
}
