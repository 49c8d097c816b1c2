import { hidesAddress, safeLink } from '@millrace/markdown';
import { type Context, createContext, isValidElement, type ReactNode } from 'react';
import { useLabels } from '../labels/use-labels.ts';

/** Reads the blobs of the session that contains a text. */
export interface BlobReader {
  /** Returns the bytes of a blob. Rejects if no message of the session refers to it. */
  blob(hash: string): Promise<Blob>;
}

/**
 * The blobs of the session. Pictures in a text can refer to them. A text outside of a session has
 * no blobs. It shows these pictures as text.
 */
export const BlobSource: Context<BlobReader | undefined> = createContext<BlobReader | undefined>(
  undefined,
);

export interface LinkProps {
  readonly address: string;
  readonly children: ReactNode;
}

/** Shows a link. If the address is not safe, only the text is shown. */
export function LinkView({ address, children }: LinkProps) {
  const t = useLabels();
  const safe = withoutToken(safeLink(address));
  if (safe === undefined) return <span title={t.linkNotFollowed}>{children}</span>;
  return (
    <>
      <a href={safe} target="_blank" rel="noopener noreferrer nofollow" title={safe}>
        {children}
      </a>
      {hidesAddress(textOf(children), address) && ` (${safe})`}
    </>
  );
}

/**
 * Removes the fragment `#token=…` from an address. The page of a server signs in with such a link. A link of
 * a model must not sign the user in with a token of another user.
 */
export function withoutToken(address: string | undefined): string | undefined {
  return address?.replace(/#(?:t|%74)(?:o|%6f)(?:k|%6b)(?:e|%65)(?:n|%6e)(?:=|%3d).*$/is, '');
}

/** Returns the visible text of elements. */
export function textOf(node: ReactNode): string {
  if (typeof node === 'string') return node;
  if (Array.isArray(node)) return node.map(textOf).join('');
  return isValidElement<{ readonly children?: ReactNode }>(node) ? textOf(node.props.children) : '';
}

/** Shows a picture as a link. The page does not load the picture. */
export function PictureLink({ address, children }: LinkProps) {
  return (
    <LinkView address={address}>
      <PictureText address={address}>{children}</PictureText>
    </LinkView>
  );
}

/** The text that the page shows in place of a picture. */
export function PictureText({ address, children }: LinkProps) {
  const t = useLabels();
  const isNamed = Array.isArray(children) ? children.length > 0 : Boolean(children);
  return (
    <>
      {t.pictureOf}
      {isNamed ? children : address}
    </>
  );
}
