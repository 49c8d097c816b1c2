import { hidesAddress, safeLink } from '@millrace/markdown';
import { isValidElement, type ReactNode } from 'react';

export interface LinkProps {
  readonly address: string;
  readonly children: ReactNode;
}

/** Shows a link. An address that must not be followed becomes text. */
export function LinkView({ address, children }: LinkProps) {
  const safe = safeLink(address);
  if (safe === undefined) return <span title="This link is not followed">{children}</span>;
  return (
    <>
      <a href={safe} target="_blank" rel="noopener noreferrer nofollow" title={safe}>
        {children}
      </a>
      {hidesAddress(textOf(children), address) && ` (${safe})`}
    </>
  );
}

/** Returns the visible text of elements. */
export function textOf(node: ReactNode): string {
  if (typeof node === 'string') return node;
  if (Array.isArray(node)) return node.map(textOf).join('');
  return isValidElement<{ readonly children?: ReactNode }>(node) ? textOf(node.props.children) : '';
}

/** Shows a picture as a link, which loads nothing. */
export function PictureLink({ address, children }: LinkProps) {
  return (
    <LinkView address={address}>
      <PictureText address={address}>{children}</PictureText>
    </LinkView>
  );
}

/** The text that stands for a picture. */
export function PictureText({ address, children }: LinkProps) {
  const isNamed = Array.isArray(children) ? children.length > 0 : Boolean(children);
  return (
    <>
      {'Picture: '}
      {isNamed ? children : address}
    </>
  );
}
