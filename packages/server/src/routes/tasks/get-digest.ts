import { sessionId } from '@millrace/core';
import { taskDigestSchema } from '../../contract/inspection.ts';
import { digestReply } from '../../digest/digest-reply.ts';
import { digestsOf } from '../../digest/digests.ts';
import { route } from '../../http/route.ts';
import { taskIdParams } from '../path-params.ts';

export const getDigest = route({
  method: 'GET',
  path: '/tasks/{task_id}/digest',
  summary: 'What a task came to: whether it runs, why it stopped, what it used of which model',
  params: taskIdParams,
  reply: taskDigestSchema,
  async handle({ params }, { service, log }) {
    const { id, agents } = await service.tasks.get({ id: params.task_id });
    const { state, isWhole } = await digestsOf(log).of(sessionId(id));
    const names = agents?.map(({ name }) => name) ?? [];
    return { task_id: id, agents: names, is_whole: isWhole, ...digestReply(state) };
  },
});
