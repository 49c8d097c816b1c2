import { CallItem } from './call-item.ts';
import { HostedItem } from './hosted-item.ts';
import { ImageItem } from './image-item.ts';
import { MessageItem } from './message-item.ts';
import type { ItemContext, Origin, OutputItem } from './output-item.ts';
import { ReasoningItem } from './reasoning-item.ts';

export function createItem(type: string, context: ItemContext, origin: Origin): OutputItem {
  switch (type) {
    case 'message':
      return new MessageItem(context, origin);
    case 'reasoning':
      return new ReasoningItem(context, origin);
    case 'function_call':
    case 'custom_tool_call':
      return new CallItem(context, origin, type);
    case 'image_generation_call':
      return new ImageItem(context, origin, type);
    default:
      return new HostedItem(context, origin, type);
  }
}
