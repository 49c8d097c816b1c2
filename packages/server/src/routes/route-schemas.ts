import { isId } from '@millrace/core';
import { z } from 'zod';
import type { ListPage, PageQuery } from '../contract/service.ts';
import { Reply } from '../http/route.ts';

export const id = z
  .string()
  .min(1)
  .max(1024)
  .refine(isId, 'it contains characters that are not printable');

export const agentIdParams = z.object({ agent_id: id });
export const agentNameParams = z.object({ agent_name: id });
export const taskIdParams = z.object({ task_id: id });
export const taskNameParams = z.object({ task_name: id });
export const messageIdParams = z.object({ message_id: id });
export const eventIdParams = z.object({ event_id: id });
export const stateIdParams = z.object({ state_id: id });
export const spanIdParams = z.object({ span_id: id });
export const trackerIdParams = z.object({ tracker_id: id });

/** The query parameters that all lists have. */
export const listQuery = {
  limit: z.int().min(1).max(1000).default(50),
  page_number: z.int().min(1).max(1_000_000).default(1),
  order_by: z.enum(['created_at', 'updated_at']).optional(),
  order_direction: z.enum(['asc', 'desc']).default('desc'),
  /** The value of the header `x-next-cursor` of the previous page. */
  cursor: z.string().max(4096).optional(),
};

const listQuerySchema = z.object(listQuery);

/** Converts query parameters to a page query. Default: sorted by the time of the last change. */
export function toPageQuery(
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

/**
 * Returns the page as a plain array, because Agentex clients expect an array. The cursor of the next page is
 * in a header.
 */
export function listReply<T>({ data, next }: ListPage<T>): Reply {
  return new Reply(data, { headers: next === null ? {} : { 'x-next-cursor': next } });
}

/** The reply to a deletion. */
export const deletedSchema = z.object({ id: z.string(), message: z.string() });
