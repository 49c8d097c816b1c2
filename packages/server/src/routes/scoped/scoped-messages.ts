import type { MessageService } from '../../contract/service.ts';
import { noSuch } from '../../tasks/row-errors.ts';
import type { ScopeRules } from './scope-rules.ts';

export function scopedMessages(messages: MessageService, rules: ScopeRules): MessageService {
  const mine = (id: string) => rules.ofTask('message', id, messages.get(id));
  return {
    async list(query) {
      await rules.task(query.taskId);
      return messages.list(query);
    },
    async page(query) {
      await rules.task(query.taskId);
      return messages.page(query);
    },
    get: mine,
    async create(body) {
      await rules.task(body.task_id);
      return messages.create(body);
    },
    async createMany(body) {
      await rules.task(body.task_id);
      return messages.createMany(body);
    },
    async update(id, body) {
      await rules.task(body.task_id);
      const { task_id } = await mine(id);
      if (task_id !== body.task_id) throw noSuch('message', id);
      return messages.update(id, body);
    },
    async updateMany(body) {
      await rules.task(body.task_id);
      for (const id of Object.keys(body.updates)) {
        const { task_id } = await mine(id);
        if (task_id !== body.task_id) throw noSuch('message', id);
      }
      return messages.updateMany(body);
    },
  };
}
