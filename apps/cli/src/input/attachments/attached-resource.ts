/** A text that an editor attached to a message, for example an open file. */
interface AttachedResource {
  readonly uri: string;
  readonly text: string;
}

const openTag = '<attached_resource uri="';
const endOfHead = '">\n';
const closeTag = '\n</attached_resource>';

/** Returns the part of a message that contains an attached text. */
export function attachedPart({ uri, text }: AttachedResource): string {
  const safe = uri.replaceAll(/["\n]/g, (character) => encodeURIComponent(character));
  return `${openTag}${safe}${endOfHead}${text}${closeTag}`;
}

/** Returns the attached text in a part that `attachedPart` created. Returns undefined for other parts. */
export function attachmentOfPart(part: string): AttachedResource | undefined {
  const end = part.indexOf(endOfHead);
  if (!part.startsWith(openTag) || end === -1 || !part.endsWith(closeTag)) return undefined;
  const text = part.slice(end + endOfHead.length, -closeTag.length);
  return { uri: part.slice(openTag.length, end), text };
}
