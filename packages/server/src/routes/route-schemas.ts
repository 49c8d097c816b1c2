import { isId } from '@millrace/core';
import { z } from 'zod';
import type { ListPage, PageQuery } from '../contract/service.ts';
import { Reply } from '../http/route.ts';

const id = z.string().min(1).max(1024).refine(isId, 'it has characters that cannot be printed');

export const agentIdParams = z.object({ agent_id: id });
export const agentNameParams = z.object({ agent_name: id });
export const taskIdParams = z.object({ task_id: id });
export const taskNameParams = z.object({ task_name: id });
export const messageIdParams = z.object({ message_id: id });
export const eventIdParams = z.object({ event_id: id });
export const stateIdParams = z.object({ state_id: id });
export const spanIdParams = z.object({ span_id: id });
export const trackerIdParams = z.object({ tracker_id: id });

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

/** A bare list, as clients of Agentex expect it; where it goes on is in a header. */
export function listReply<T>({ data, next }: ListPage<T>): Reply {
  return new Reply(data, { headers: next === null ? {} : { 'x-next-cursor': next } });
}

/** What is told of something that was deleted. */
export const deletedSchema = z.object({ id: z.string(), message: z.string() });
