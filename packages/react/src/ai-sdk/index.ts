'use client';

export type { ChatFile, ChatHelpers, ChatMessage, ChatPart } from './chat-helpers.ts';
export { type ChatSessionOptions, useChatSession } from './chat-session.ts';
