import { isId } from '@millrace/core';
import { z } from 'zod';

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
