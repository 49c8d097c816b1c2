import type { JsonObject } from '@millrace/core';
import type { PushSender } from '../contract.ts';
import { type A2aContext, type A2aTask, findTask, openView } from '../open-task.ts';
import { a2aError } from '../protocol/a2a-error.ts';
import { textField } from '../protocol/messages.ts';
import { pushConfigJson } from './push-configs.ts';
import { statusKey } from './push-notifier.ts';

function notifierOf({ push }: A2aContext): PushSender {
  if (push !== undefined) return push;
  throw a2aError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'This server sends no push notifications');
}

/** Adds a configuration to a task. `sent` is the status that the address need not receive. */
export async function addPushConfig(
  task: A2aTask,
  params: JsonObject,
  context: A2aContext,
  sent?: string,
): Promise<JsonObject> {
  const notifier = notifierOf(context);
  const { view } = await openView(task, context);
  const now = statusKey(view.task({ historyLength: 0 })['status'] as JsonObject) ?? '';
  const config = await notifier.configs.create(task.place, params, sent ?? now);
  notifier.follow(config);
  return pushConfigJson(config);
}

type PushOperation = (params: JsonObject, context: A2aContext) => Promise<JsonObject>;

/** The operations of A2A for push configurations. */
export const pushOperations: Readonly<Record<string, PushOperation>> = {
  async CreateTaskPushNotificationConfig(params, context) {
    return addPushConfig(await findTask(params['taskId'], context), params, context);
  },
  async GetTaskPushNotificationConfig(params, context) {
    const { place } = await findTask(params['taskId'], context);
    const config = await notifierOf(context).configs.get(place, textField(params, 'id'));
    return pushConfigJson(config);
  },
  async ListTaskPushNotificationConfigs(params, context) {
    const { place } = await findTask(params['taskId'], context);
    const configs = await notifierOf(context).configs.list(place);
    return { configs: configs.map(pushConfigJson), nextPageToken: '' };
  },
  async DeleteTaskPushNotificationConfig(params, context) {
    const { place } = await findTask(params['taskId'], context);
    await notifierOf(context).configs.delete(place, textField(params, 'id'));
    return {};
  },
};
