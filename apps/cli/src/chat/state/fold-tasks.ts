import type { AgentEvent, JsonValue } from '@millrace/core';
import { readTodo } from '@millrace/tools';
import type { ChatState } from '../contract/chat-state.ts';
import { callEntry } from './entries.ts';

/**
 * Folds the task list of the model. It is the input of the last `todo` call that succeeded, so it is the same
 * after a restart. Calls of sub-agents are in other sessions.
 */
export function foldTasks(state: ChatState, event: AgentEvent): ChatState {
  if (event.type === 'tool_execution_finished' && event.name === 'todo' && !event.isError)
    return withTasks(state, callEntry(state, event.toolCallId)?.card.input);
  if (event.type !== 'turn_settled') return state;
  // The facts of a settled turn have no inputs. Its items have them.
  const parts = event.items.flatMap((item) => item.parts.map(({ part }) => part));
  const failed = new Set(
    parts.flatMap((part) => (part.kind === 'tool_result' && part.isError ? part.toolCallId : [])),
  );
  const last = parts.findLast(
    (part) => part.kind === 'tool_call' && part.name === 'todo' && !failed.has(part.toolCallId),
  );
  return last?.kind === 'tool_call' ? withTasks(state, last.input) : state;
}

function withTasks(state: ChatState, input: JsonValue | undefined): ChatState {
  const tasks = readTodo(input);
  return tasks === undefined ? state : { ...state, tasks };
}
