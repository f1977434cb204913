// vtable.h : a C++ object of another library gets methods of ours: its table of virtual functions
// is copied, slots are replaced by the names of their functions' symbols, and the object is given
// the copy. No layout and no slot number is assumed.
#ifndef VTABLE_H
#define VTABLE_H
#include <string>
#include <vector>

class Vtable
{
  public:
    // The table with this symbol, of the library that dlopen() gave. missing: "", or the symbol
    // that it lacks.
    Vtable(void *library, const char *symbol);

    // Calls of `symbol` go to `function` from now on; returns what was there, or nullptr: `missing`
    // says so.
    void *replace(const char *symbol, void *function);
    void give_to(void *object) const;

    std::string missing;

  private:
    void *library;
    std::vector<void *> words;
};

#endif
