import type { AgentEvent, Metadata } from '@millrace/core';
import { describesCommand } from '@millrace/tools';
import type { ChatState } from '../contract/chat-state.ts';

/** Folds the metadata of messages and parts: the folders of messages, and whether there were background commands. */
export function foldMetadata(state: ChatState, event: AgentEvent): ChatState {
  const known = state.hasCommands || !metadataOf(event).some(describesCommand);
  const noted = known ? state : { ...state, hasCommands: true };
  if (event.type !== 'item_started' || event.kind !== 'user') return noted;
  const folder = event.metadata?.['cwd'];
  if (typeof folder !== 'string' || folder === state.folders.at(-1)) return noted;
  const others = state.folders.filter((one) => one !== folder);
  return { ...noted, folders: [...others, folder].slice(-2) };
}

function metadataOf(event: AgentEvent): readonly (Metadata | undefined)[] {
  switch (event.type) {
    case 'item_started':
    case 'part_metadata_set':
      return [event.metadata];
    case 'part_finished':
      return [event.part?.metadata];
    case 'turn_settled':
      return event.items.flatMap(({ parts }) => parts.map(({ part }) => part.metadata));
    default:
      return [];
  }
}
