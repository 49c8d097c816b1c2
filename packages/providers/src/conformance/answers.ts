/** What providers under test are made to say. */
export const text = 'The wheel turns. 😀 ✓\n\n- a  list';

export const calls: readonly [
  { readonly name: string; readonly arguments: string },
  { readonly name: string; readonly arguments: string },
] = [
  { name: 'read_file', arguments: '{"path":"a b.txt","lines":[1,2]}' },
  { name: 'list_folder', arguments: '{"deep":{"er":"ö😀"}}' },
];
