import type { Content } from '../contract/content.ts';

/** Does it say nothing yet? */
export function isEmptyContent(content: Content): boolean {
  switch (content.type) {
    case 'text':
      return content.content === '';
    case 'data':
      return Object.keys(content.data).length === 0;
    case 'tool_request':
      return Object.keys(content.arguments).length === 0;
    case 'tool_response':
      return content.content === '' || content.content === null;
    case 'reasoning':
      return content.summary.length === 0 && (content.content ?? []).length === 0;
  }
}
