// node --import ./node20.mjs FILE: what the conformance suite imports from `fs` and Node 20 lacks. Only a command of the suite that
// nobody here runs calls it, so it is enough that the name is there.
import * as fs from 'node:fs';
import { register } from 'node:module';

const module = (text) => `data:text/javascript,${encodeURIComponent(text)}`;

const richer = module(`
export * from 'node:fs';
export { default } from 'node:fs';
export const globSync = () => { throw new Error('globSync wants Node 22 or newer'); };
`);

const hooks = module(`
export const resolve = (name, context, next) =>
  name === 'fs' && context.parentURL?.includes('/@modelcontextprotocol/conformance/')
    ? { url: ${JSON.stringify(richer)}, shortCircuit: true }
    : next(name, context);
`);

if (!('globSync' in fs)) register(hooks);
