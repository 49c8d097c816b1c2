import { z } from 'zod';
import type { ListPage, PageQuery } from '../contract/service.ts';
import { Reply } from '../http/reply.ts';

/** What every list can be asked. */
export const listQuery = {
  limit: z.int().min(1).max(1000).default(50),
  page_number: z.int().min(1).max(1_000_000).default(1),
  order_by: z.enum(['created_at', 'updated_at']).optional(),
  order_direction: z.enum(['asc', 'desc']).default('desc'),
  /** What `x-next-cursor` of the answer before said. */
  cursor: z.string().max(4096).optional(),
};

const listQuerySchema = z.object(listQuery);

/** Lists are sorted by their last change unless told. */
export function pageOf(
  query: z.output<typeof listQuerySchema>,
  orderBy: PageQuery['orderBy'] = 'updated_at',
): PageQuery {
  const { limit, page_number, order_by, order_direction, cursor } = query;
  return {
    limit,
    pageNumber: page_number,
    orderBy: order_by ?? orderBy,
    direction: order_direction,
    cursor,
  };
}

/** A bare list, as clients of Agentex expect it; where it goes on is in a header. */
export function listReply<T>({ data, next }: ListPage<T>): Reply {
  return new Reply(data, { headers: next === null ? {} : { 'x-next-cursor': next } });
}
