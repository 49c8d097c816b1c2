import type { Route } from '../http/route.ts';
import { deleteAgent } from './agents/delete-agent.ts';
import { getAgent } from './agents/get-agent.ts';
import { listAgents } from './agents/list-agents.ts';
import { registerAgent } from './agents/register-agent.ts';
import { registerBuild } from './agents/register-build.ts';
import { chatRoutes } from './chat/chat-routes.ts';
import { getEvent } from './events/get-event.ts';
import { listEvents } from './events/list-events.ts';
import { createMessage } from './messages/create-message.ts';
import { createMessages } from './messages/create-messages.ts';
import { getMessage } from './messages/get-message.ts';
import { listMessages } from './messages/list-messages.ts';
import { pageMessages } from './messages/page-messages.ts';
import { updateMessage } from './messages/update-message.ts';
import { updateMessages } from './messages/update-messages.ts';
import { agentRpc } from './rpc/agent-rpc.ts';
import { documentRoutes } from './server/documents.ts';
import { health } from './server/health.ts';
import { createSpan } from './spans/create-span.ts';
import { getSpan } from './spans/get-span.ts';
import { listSpans } from './spans/list-spans.ts';
import { updateSpan } from './spans/update-span.ts';
import { createState } from './states/create-state.ts';
import { deleteState } from './states/delete-state.ts';
import { getState } from './states/get-state.ts';
import { listStates } from './states/list-states.ts';
import { updateState } from './states/update-state.ts';
import { changeTask } from './tasks/change-task.ts';
import { deleteTask } from './tasks/delete-task.ts';
import { forkTask } from './tasks/fork-task.ts';
import { getBlob } from './tasks/get-blob.ts';
import { getDigest } from './tasks/get-digest.ts';
import { getRequest } from './tasks/get-request.ts';
import { getTask } from './tasks/get-task.ts';
import { listRecords } from './tasks/list-records.ts';
import { listTasks } from './tasks/list-tasks.ts';
import { streamTask } from './tasks/stream-task.ts';
import { submitCommand } from './tasks/submit-command.ts';
import { updateTask } from './tasks/update-task.ts';
import { createToken } from './tokens/create-token.ts';
import { listTokens } from './tokens/list-tokens.ts';
import { revokeToken } from './tokens/revoke-token.ts';
import { getTracker } from './trackers/get-tracker.ts';
import { listTrackers } from './trackers/list-trackers.ts';
import { updateTracker } from './trackers/update-tracker.ts';

const routes: readonly Route[] = [
  ...agentRpc,
  listAgents,
  ...getAgent,
  ...deleteAgent,
  registerAgent,
  registerBuild,
  listTasks,
  ...getTask,
  ...updateTask,
  ...deleteTask,
  ...changeTask,
  ...streamTask,
  submitCommand,
  forkTask,
  getBlob,
  listRecords,
  getDigest,
  getRequest,
  listMessages,
  pageMessages,
  getMessage,
  createMessage,
  createMessages,
  updateMessage,
  updateMessages,
  listEvents,
  getEvent,
  createState,
  listStates,
  getState,
  updateState,
  deleteState,
  createSpan,
  listSpans,
  getSpan,
  updateSpan,
  listTrackers,
  getTracker,
  updateTracker,
  createToken,
  listTokens,
  revokeToken,
  ...chatRoutes,
  ...health,
];

/** The table that is served, and that the document is made of. */
export const allRoutes: readonly Route[] = [...routes, ...documentRoutes(routes)];
