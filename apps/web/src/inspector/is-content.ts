import type { Delta } from '@millrace/core';

/** Does something come with it that can be read? A begin alone is only a name. */
export function isContent(delta: Delta | undefined): boolean {
  switch (delta?.type) {
    case 'append_text':
    case 'append_bytes':
    case 'replace_structured':
    case 'commit_part':
      return true;
    default:
      return false;
  }
}
