import type { JsonObject } from '@millrace/core';
import type { PushCaller, PushConfig, PushSender } from '../contract.ts';
import { type A2aContext, type A2aTask, findTask, openView } from '../open-task.ts';
import { a2aError, invalidParams, taskNotFound } from '../protocol/a2a-error.ts';
import { textField } from '../protocol/messages.ts';
import { pushConfigJson } from './push-configs.ts';
import { statusKey } from './task-statuses.ts';

function notifierOf({ push }: A2aContext): PushSender {
  if (push !== undefined) return push;
  throw a2aError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'This server sends no push notifications');
}

/** Maximum time for which a user of `authorize` receives notifications, because the server cannot ask again. */
const userLifetimeMs = 24 * 60 * 60 * 1000;

/** Returns the creator of a configuration, and the time at which it ends. */
function callerOf({ caller, grant, clock }: A2aContext): PushCaller {
  const { scope, expiresAt: until } = grant;
  const isUser = scope.kind === 'user' || caller.startsWith('user ');
  const limit = isUser ? clock.now() + userLifetimeMs : undefined;
  const expiresAt = until === null ? limit : Math.min(until, limit ?? until);
  return { caller, expiresAt, isRestricted: scope.kind !== 'all' };
}

/** True if a caller can use a configuration: only its creator, and callers with full access. */
function canUse(config: PushConfig, { caller, grant }: A2aContext): boolean {
  return config.caller === caller || (grant.scope.kind === 'all' && !grant.isReadOnly);
}

/** Adds a configuration to a task. `sent` is the status that the address need not receive. */
export async function addPushConfig(
  task: A2aTask,
  params: JsonObject,
  context: A2aContext,
  sent?: string,
): Promise<JsonObject> {
  const notifier = notifierOf(context);
  const caller = callerOf(context);
  notifier.assertCapacity(caller);
  const replaced = await notifier.configs.find(task.place, textField(params, 'id'));
  if (replaced !== undefined && !canUse(replaced, context))
    throw invalidParams('Cannot use id: another client has a configuration with this id');
  const { view } = await openView(task, context);
  const now = statusKey(view.task({ historyLength: 0 })['status'] as JsonObject) ?? '';
  const config = await notifier.configs.create(task.place, params, caller, sent ?? now);
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
    if (!canUse(config, context)) throw taskNotFound();
    return pushConfigJson(config);
  },
  async ListTaskPushNotificationConfigs(params, context) {
    const { place } = await findTask(params['taskId'], context);
    const configs = await notifierOf(context).configs.list(place);
    const own = configs.filter((config) => canUse(config, context));
    return { configs: own.map(pushConfigJson), nextPageToken: '' };
  },
  async DeleteTaskPushNotificationConfig(params, context) {
    const { place } = await findTask(params['taskId'], context);
    const { configs } = notifierOf(context);
    const id = textField(params, 'id');
    const config = await configs.find(place, id);
    if (config !== undefined && !canUse(config, context)) throw taskNotFound();
    await configs.delete(place, id);
    return {};
  },
};
