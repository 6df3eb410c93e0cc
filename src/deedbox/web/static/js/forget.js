// What this tab remembers of a signature goes once the signer's part is over, and not before.
import { memory } from './page.js';

for (const name of Object.keys(memory)) if (name.startsWith(`${location.pathname} `)) memory.removeItem(name);
