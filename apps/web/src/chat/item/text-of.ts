import type { ChatSource } from '../state/chat-source.ts';
import type { ItemHead } from '../state/use-source.ts';

/** The words of an item, without what was thought and done. */
export function textOf(source: ChatSource, { partIds }: ItemHead): string {
  const parts = partIds.map((id) => source.part(id));
  const texts = parts.map((part) => (part?.kind === 'text' ? part.text : ''));
  return texts.filter((text) => text !== '').join('\n\n');
}
