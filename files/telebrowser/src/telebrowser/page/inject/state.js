// What lives as long as the document: the next free ref number and what is under way.
const state = { next: 1, watch: null, typing: null, upload: null };
